// The chat of the `ai` package against a server: node vercel.mjs ROOT CHAT_ID SCENARIO TEXT...
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((old, place) => (place === index ? message : old));
  };
  snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {
  constructor(init) { super({ ...init, state: new State() }); }
}

const [root, id, scenario, ...texts] = process.argv.slice(2);
const finishes = [];
const make = (more = {}) => new Chat({
  id,
  transport: new DefaultChatTransport({ api: `${root}/api/chat` }),
  onFinish: ({ finishReason, isAbort, isError }) => finishes.push({ finishReason, isAbort, isError }),
  ...more,
});
const textOf = (chat) => (chat.lastMessage?.role === "assistant" ? chat.lastMessage.parts : [])
  .filter((part) => part.type === "text").map((part) => part.text).join("");
const until = async (condition) => { while (!condition()) await new Promise((wake) => setTimeout(wake, 5)); };

const scenarios = {
  async send() {
    const chat = make();
    for (const text of texts) await chat.sendMessage({ text });
    return chat;
  },
  async tool() {
    const chat = make({
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => {
        chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { sky: "blue" } });
      },
    });
    await chat.sendMessage({ text: texts[0] });
    await until(() => chat.status === "ready" && finishes.length === 2);
    return chat;
  },
  async stop() {
    const chat = make();
    const sent = chat.sendMessage({ text: texts[0] });
    await until(() => textOf(chat).length > 0);
    const response = await fetch(`${root}/api/chat/${id}`, { method: "DELETE" });
    await sent;
    return Object.assign(chat, { stopStatus: response.status });
  },
  async resume() {
    const first = make();
    const sent = first.sendMessage({ text: texts[0] });
    await until(() => textOf(first).length > 20);
    await first.stop();
    await sent;
    const second = make();
    second.messages = first.messages.slice(0, 1);
    await second.resumeStream();
    return Object.assign(second, { before: textOf(first) });
  },
  async nothing() {
    const chat = make();
    await chat.resumeStream();
    return chat;
  },
};

const chat = await scenarios[scenario]();
console.log(JSON.stringify({
  status: chat.status, error: chat.error?.message ?? null, messages: chat.messages, text: textOf(chat),
  finishes, stopStatus: chat.stopStatus ?? null, before: chat.before ?? null,
}));
