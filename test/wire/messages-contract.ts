interface Fields {
  readonly [field: string]: unknown;
}

const toolName = /^[a-zA-Z0-9_-]{1,128}$/;
const userTypes = new Set(["text", "image", "document", "tool_result"]);

/**
 * Returns the rules that the body of a Messages request breaks. Roles alternate, and the user is first. The message after calls
 * begins with exactly one result for each call. Texts are not blank, and thinking has a signature. The call of a server tool has a
 * result, or is the end of a paused message. There are at most 4 cache marks.
 */
export function checkMessagesContract(body: unknown): readonly string[] {
  if (!isFields(body)) return ["the body is no object"];
  const violations: string[] = [];
  const { model, max_tokens: maxTokens, messages, stream } = body;
  if (typeof model !== "string" || model === "") violations.push("there is no model");
  if (!Number.isSafeInteger(maxTokens) || Number(maxTokens) < 1) violations.push("there is no max_tokens");
  if (stream !== true) violations.push("it does not stream");
  if (!Array.isArray(messages) || messages.length === 0) violations.push("there are no messages");
  else violations.push(...checkMessages(messages));
  violations.push(...checkSystem(body), ...checkTools(body), ...checkMarks(body), ...checkThinking(body));
  return violations;
}

interface Walk {
  /** The ids of the calls in the previous message. The next message must begin with their results. */
  open: readonly string[];
  readonly ids: Set<string>;
  readonly isLast: () => boolean;
  readonly report: (problem: string) => void;
}

function checkMessages(messages: readonly unknown[]): readonly string[] {
  const violations: string[] = [];
  let position = 0;
  const walk: Walk = {
    open: [],
    ids: new Set(),
    isLast: () => position === messages.length - 1,
    report: (problem) => violations.push(`message ${position}: ${problem}`),
  };
  for (const message of messages) {
    if (!isFields(message)) walk.report("is no object");
    else checkMessage(message, position % 2 === 0 ? "user" : "assistant", walk);
    position += 1;
  }
  return violations;
}

function checkMessage({ role, content }: Fields, expected: "user" | "assistant", walk: Walk): void {
  if (role !== expected) walk.report(`is of the ${String(role)}, not of the ${expected}`);
  if (!Array.isArray(content) || content.length === 0) return walk.report("has no content");
  const blocks: readonly Fields[] = content.filter(isFields);
  if (blocks.length < content.length) walk.report("has a block that is not an object");
  for (const block of blocks) checkText(block, walk);
  if (expected === "user") checkUser(blocks, walk);
  else checkTurn(blocks, walk);
}

function checkText({ type, text }: Fields, { report }: Walk): void {
  if (type === "text" && (typeof text !== "string" || text.trim() === "")) report("has a blank text");
}

function checkUser(blocks: readonly Fields[], walk: Walk): void {
  const results = blocks.filter(({ type }) => type === "tool_result");
  const isFirst = blocks.slice(0, results.length).every(({ type }) => type === "tool_result");
  if (!isFirst) walk.report("has results after other content");
  for (const { type } of blocks) if (!userTypes.has(String(type))) walk.report(`has a block of type ${String(type)}`);
  for (const result of results) checkResult(result, walk);
  if (walk.open.length > 0) walk.report(`does not answer ${walk.open.join(", ")}`);
  walk.open = [];
}

function checkResult({ tool_use_id: id, content, is_error: isError }: Fields, walk: Walk): void {
  const at = walk.open.indexOf(String(id));
  if (at === -1) walk.report(`answers no open call: ${String(id)}`);
  else if (at > 0) walk.report(`answers ${String(id)} before ${String(walk.open[0])}`);
  walk.open = walk.open.filter((open) => open !== id);
  if (isError === true && (content === undefined || content === "")) walk.report("has an error without text");
  if (content === undefined || typeof content === "string") return;
  if (!Array.isArray(content) || content.length === 0) return walk.report("has a result without content");
  for (const part of content.filter(isFields)) checkText(part, walk);
}

function checkTurn(blocks: readonly Fields[], walk: Walk): void {
  const calls = blocks.filter(({ type }) => type === "tool_use");
  for (const call of calls) checkCall(call, walk);
  walk.open = walk.isLast() ? [] : calls.map(({ id }) => String(id));
  checkThoughts(blocks, walk);
  const answered = new Set(blocks.map((block) => block.tool_use_id));
  const isOpen = blocks.some(({ type, id }) => String(type).endsWith("_tool_use") && !answered.has(id));
  if (isOpen && calls.length === 0 && !walk.isLast()) walk.report("has a call of a server's tool without its result");
}

function checkThoughts(blocks: readonly Fields[], { report }: Walk): void {
  for (const { type, signature } of blocks) {
    if (type === "tool_result") report("has a result");
    if (type === "thinking" && (typeof signature !== "string" || signature === "")) report("has thinking without a signature");
  }
  if (String(blocks[blocks.length - 1]?.type).endsWith("thinking")) report("ends in thinking");
}

function checkCall({ id, name, input }: Fields, { ids, report }: Walk): void {
  const shown = String(id);
  if (typeof id !== "string" || !/^[a-zA-Z0-9_-]+$/.test(id)) report(`has a call of the id ${JSON.stringify(id)}`);
  else if (ids.has(id)) report(`has a second call ${id}`);
  ids.add(shown);
  if (typeof name !== "string" || !toolName.test(name)) report(`calls a tool of the name ${JSON.stringify(name)}`);
  if (!isFields(input)) report(`has an input of call ${shown} that is no object`);
}

function checkSystem({ system }: Fields): readonly string[] {
  if (system === undefined) return [];
  const texts: readonly unknown[] = Array.isArray(system) ? system.map((block) => (isFields(block) ? block.text : "")) : [system];
  return texts.some((text) => typeof text !== "string" || text.trim() === "") ? ["the system text is blank"] : [];
}

function checkTools({ tools, tool_choice: choice }: Fields): readonly string[] {
  if (tools === undefined) return choice === undefined ? [] : ["there is a tool choice and no tool"];
  if (!Array.isArray(tools) || tools.length === 0) return ["the list of tools is empty"];
  const names = new Set<unknown>();
  const violations = tools.flatMap((tool: unknown) => checkTool(tool, names));
  const chosen = isFields(choice) && choice.type === "tool" ? choice.name : undefined;
  if (chosen === undefined || names.has(chosen)) return violations;
  return [...violations, `the chosen tool ${JSON.stringify(chosen)} is not offered`];
}

function checkTool(tool: unknown, names: Set<unknown>): readonly string[] {
  const { name, input_schema: schema, type } = isFields(tool) ? tool : {};
  const shown = JSON.stringify(name);
  const violations: string[] = [];
  if (typeof name !== "string" || !toolName.test(name)) violations.push(`there is a tool of the name ${shown}`);
  if (names.has(name)) violations.push(`there are two tools of the name ${shown}`);
  if (type === undefined && !isFields(schema)) violations.push(`the tool ${shown} has no schema`);
  names.add(name);
  return violations;
}

function checkMarks(body: Fields): readonly string[] {
  const violations: string[] = [];
  const marks = JSON.stringify(body).split('"cache_control":').length - 1;
  if (marks > 4) violations.push(`there are ${marks} marks for the cache`);
  return violations;
}

function checkThinking({ thinking, max_tokens: maxTokens }: Fields): readonly string[] {
  if (!isFields(thinking) || thinking.type !== "enabled") return [];
  return Number(thinking.budget_tokens) < Number(maxTokens) ? [] : ["thinking may use all tokens of the answer"];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
