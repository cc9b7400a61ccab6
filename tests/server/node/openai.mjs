// OpenAI's SDK for Node against a server: node openai.mjs ROOT SCENARIO TEXT
import OpenAI from "openai";

const [root, scenario, text] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${root}/v1`, apiKey: "no-token-needed", maxRetries: 0 });
const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
const body = { model: "m", messages: [{ role: "user", content: text }], tools };
const result = { text: "", thinking: "", error: null, status: null, completion: null };
try {
  const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
  stream.on("chunk", (chunk) => { result.thinking += chunk.choices[0]?.delta?.reasoning_content ?? ""; });
  stream.on("content", (delta) => {
    result.text += delta;
    if (scenario === "stop") stream.abort();
  });
  result.completion = await stream.finalChatCompletion();
  if (scenario === "whole") result.completion = await client.chat.completions.create(body);
} catch (fault) {
  result.error = fault.constructor.name;
  result.status = fault.status ?? null;
}
console.log(JSON.stringify(result));
