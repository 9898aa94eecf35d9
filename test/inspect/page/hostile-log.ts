// A log in which every text is an attack on the page that shows it. Each attack would set `window.pwned`, or load something.

const attack = "window.pwned=(window.pwned||0)+1";

export const payloads: readonly string[] = [
  `<script>${attack}</script>`,
  `</script><script>${attack}</script>`,
  `<!--<script>${attack}</script>-->`,
  `<!-- </pre><script>${attack}</script>`,
  `<img src=x onerror="${attack}">`,
  `<svg onload="${attack}"><animate onbegin="${attack}" attributeName=x dur=1s></svg>`,
  `"><iframe srcdoc="<script>parent.${attack}</script>"></iframe>`,
  `' onmouseover='${attack}' autofocus onfocus='${attack}' x='`,
  `[click](javascript:${attack}) ![image](https://evil.example/pixel.png)`,
  `javascript:${attack}`,
  `<a href="javascript:${attack}">link</a><details open ontoggle="${attack}">`,
  `<link rel=stylesheet href=https://evil.example/a.css><style>@import url(https://evil.example/b.css);</style>`,
  `<base href=https://evil.example/><meta http-equiv=refresh content="0;url=https://evil.example/">`,
  `\u001b[31mred\u001b]8;;https://evil.example/\u0007link\u001b]8;;\u0007`,
  `safe\u202etxt.exe\u2066 \u200b\u2069`,
  `line\u2028separator\u2029${attack}`,
  `__proto__`,
  `\${${attack}}{{constructor.constructor('${attack}')()}}`,
  `\ud800 lone surrogate \u0000 null`,
];

export const everything: string = payloads.join("\n");

type Fields = { readonly [name: string]: unknown };

/** Attacks as keys and as values. Some keys are own properties such as "__proto__". */
const objects: Fields = Object.fromEntries([
  ...payloads.map((payload) => [payload, payload] as const),
  ["constructor", { prototype: { x: 1 } }],
]);

const text = everything;
const service = { provider: text, model: text };
const error = { name: text, message: text, code: text, retryable: true, cause: { name: text, message: text } };
const call = { iteration: 0, callId: text, name: text, index: 0 };
const other = { iteration: 0, callId: `another ${text}`, name: text, index: 1 };
const user = { role: "user", content: text };
const media = {
  role: "user",
  content: [
    { type: "text", text },
    { type: "image", mediaType: text, data: "https://evil.example/image.png" },
    { type: "file", mediaType: "text/html", data: text },
  ],
};
const assistant = {
  role: "assistant",
  content: [
    { type: "reasoning", text },
    { type: "text", text },
    { type: "tool-call", callId: text, name: text, args: objects },
  ],
  providerMetadata: [{ ...service, item: objects }],
};
const results = [{ callId: text, name: text, outcome: "completed", result: objects, content: [{ type: "text", text }] }];
const request = {
  ...service,
  system: text,
  tools: [{ name: text, description: text, inputSchema: objects }],
  toolChoice: { name: text },
  settings: objects,
};
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const pending = { id: text, callId: text, name: text, args: objects, waitsFor: text };

/** Ends with the result of the second call. */
const firstLines: readonly Fields[] = [
  {
    ...{ type: "run-start", runId: text, path: [], ...service, version: text, limits: objects, timeouts: objects },
    ...{ middleware: [text], hooks: [text], session: objects },
  },
  { type: "notice", iteration: 0, kind: text },
  { type: "iteration-start", iteration: 0, continuation: 0 },
  { type: "request", iteration: 0, ...request, keep: 0, add: [user, media, assistant, { role: "tool", results }] },
  { type: "attempt-start", iteration: 0, attempt: 1, ...service },
  { type: "attempt-discarded", iteration: 0, attempt: 1, error, text, reasoning: text },
  { type: "attempt-start", iteration: 0, attempt: 2, ...service },
  { type: "first-token", iteration: 0, kind: text },
  {
    ...{ type: "output", iteration: 0, text, reasoning: text, details: text, thoughtLog: objects, error },
    ...{ providerMetadata: [objects], finish: text, rawFinish: text, calls: [{ ...call, args: objects, problem: text }] },
  },
  { type: "approval-asked", ...call, args: objects },
  { type: "approval-decided", ...call, decision: text, args: objects, reason: text, error },
  { type: "tool-start", ...call, args: objects },
  { type: "tool-progress", ...call, data: objects },
  { type: "tool-emit", ...call, part: objects },
  { type: "run-start", run: 1, runId: text, path: [text], parent: 0, ...service },
  { type: "iteration-start", run: 1, iteration: 0, continuation: 0 },
  { type: "output", run: 1, iteration: 0, text, calls: [] },
  { type: "run-error", run: 1, error },
  { type: "tool-end", ...call, outcome: text, result: objects, metadata: objects, durationMs: 1 },
  { type: "result-cached", ...call, tokensBefore: text, tokensAfter: text },
  { type: "tool-start", ...other, args: null },
];

const lastLines: readonly Fields[] = [
  { type: "masked", iteration: 0, calls: [text], tokensBefore: 1, tokensAfter: 0 },
  { type: "request-adjusted", iteration: 0, model: objects, changes: text },
  { type: "steered", iteration: 0, message: user },
  { type: "restart", ...call, suffix: text, disableTools: [text] },
  { type: "loop-detected", iteration: 0, toolName: text, count: 2, cycle: 1, action: text },
  { type: "listener-error", iteration: 0, event: text, error },
  { type: "hidden-notice", ...call, callId: "unknown", args: objects },
  { type: "__proto__", iteration: 0, value: objects },
  { type: "constructor", iteration: 0, value: objects },
  { type: text, iteration: 0, data: objects },
  { type: "iteration-end", iteration: 0, status: text, ...service, finish: text, usage, durationMs: 2 },
  { type: "iteration-start", iteration: 1, continuation: 0 },
  { type: "request", iteration: 1, ...request, system: "changed", keep: 1, replace: [[0, media]], add: [user] },
  { type: "output", iteration: 1, text, calls: [] },
  {
    ...{ type: "run-end", iteration: 1, status: text, reason: { kind: "approval-required", calls: [pending] } },
    ...{ usage, durationMs: 5, toolCallsExecuted: 1 },
  },
];

const start = 1_700_000_000_000;

/**
 * All texts of all lines are attacks, even in lines that the library would never write. One result has `maxLineLength` characters
 * without a line break.
 */
export function hostileLog(maxLineLength = 20_000): string {
  const image = `<img src=x onerror=${attack}>`;
  const result = image.repeat(maxLineLength / image.length);
  const lines = [...firstLines, { type: "tool-end", ...other, outcome: "completed", result, durationMs: 1 }, ...lastLines];
  const header = { type: "log", at: start, version: 1 };
  const whole = [header, ...lines.map((line, index) => ({ run: 0, ...line, at: start + index * 100 }))];
  return `${whole.map((line) => JSON.stringify(line)).join("\n")}\n`;
}
