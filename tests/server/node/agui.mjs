// The agent of @ag-ui/client against a server: node agui.mjs ROOT SCENARIO TEXT
import { HttpAgent } from "@ag-ui/client";

const [root, scenario, text] = process.argv.slice(2);
const tools = [{ name: "weather", description: "the weather", parameters: { type: "object", properties: {} } }];
const agent = new HttpAgent({ url: `${root}/agui`, threadId: "thread-1" });
agent.messages = [{ id: "m1", role: "user", content: text }];
const types = [];
let stopped = false;
const subscriber = {
  onEvent: ({ event }) => { types.push(event.type); },
  onTextMessageContentEvent: () => {
    if (scenario === "stop" && !stopped) { stopped = true; agent.abortRun(); }
  },
};
let error = null;
const run = async () => {
  try { await agent.runAgent({ runId: `run-${types.length}`, tools }, subscriber); }
  catch (fault) { error = fault.message; }
};
await run();
if (scenario === "tool") {
  const call = agent.messages.flatMap((message) => message.toolCalls ?? [])[0];
  agent.addMessage({ id: "r1", role: "tool", toolCallId: call.id, content: "sunny" });
  await run();
}
console.log(JSON.stringify({ types, messages: agent.messages, error }));
