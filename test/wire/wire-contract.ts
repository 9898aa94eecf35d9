interface Fields {
  readonly [field: string]: unknown;
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/;
const partTypes = new Set(["text", "image_url", "input_audio", "file"]);

/**
 * Returns the rules that the body of a Chat Completions request breaks. Each call needs exactly one result, in the order of the
 * calls, before any other message. Call ids are unique. Arguments are an object as JSON text. Tool names match the pattern of the
 * API. System messages come first.
 */
export function checkWireContract(body: unknown): readonly string[] {
  if (!isFields(body)) return ["the body is no object"];
  const violations: string[] = [];
  if (typeof body.model !== "string" || body.model === "") violations.push("there is no model");
  if (!Array.isArray(body.messages) || body.messages.length === 0) violations.push("there are no messages");
  else violations.push(...checkMessages(body.messages));
  violations.push(...checkTools(body));
  return violations;
}

interface Walk {
  /** The ids of the calls that still need a result, in order. */
  open: readonly string[];
  readonly ids: Set<string>;
  begun: boolean;
  readonly report: (problem: string) => void;
}

function checkMessages(messages: readonly unknown[]): readonly string[] {
  const violations: string[] = [];
  let position = 0;
  const walk: Walk = {
    open: [],
    ids: new Set(),
    begun: false,
    report: (problem) => violations.push(`message ${position}: ${problem}`),
  };
  for (const message of messages) {
    if (!isFields(message)) walk.report("is no object");
    else checkMessage(message, walk);
    position += 1;
  }
  if (walk.open.length > 0) violations.push(`the end: not answered: ${walk.open.join(", ")}`);
  return violations;
}

function checkMessage(message: Fields, walk: Walk): void {
  if (message.role === "tool") return checkResult(message, walk);
  if (walk.open.length > 0) {
    walk.report(`comes before the answer to ${walk.open.join(", ")}`);
    walk.open = [];
  }
  if (message.role === "system" || message.role === "developer") return checkSystem(message, walk);
  walk.begun = true;
  if (message.role === "user") return checkUser(message, walk);
  if (message.role === "assistant") return checkTurn(message, walk);
  walk.report(`has the unknown role ${String(message.role)}`);
}

function checkSystem({ content }: Fields, { begun, report }: Walk): void {
  if (begun) report("is a system message after the conversation has begun");
  if (typeof content !== "string" || content === "") report("has no text");
}

function checkUser({ content }: Fields, { report }: Walk): void {
  if (typeof content === "string") return;
  if (!Array.isArray(content) || content.length === 0) return report("has no content");
  for (const part of content) if (!isFields(part) || !partTypes.has(String(part.type))) report("has an unknown part");
}

function checkTurn(turn: Fields, walk: Walk): void {
  const calls = turn.tool_calls;
  if (calls !== undefined && (!Array.isArray(calls) || calls.length === 0)) return walk.report("has an empty list of calls");
  const list: readonly unknown[] = Array.isArray(calls) ? calls : [];
  const mayBeNull = turn.content === null && list.length > 0;
  if (typeof turn.content !== "string" && !mayBeNull) walk.report("has neither text nor calls");
  walk.open = list.map((call) => checkCall(call, walk));
}

function checkCall(call: unknown, { ids, report }: Walk): string {
  if (!isFields(call) || !isFields(call.function)) {
    report("has a call that is not an object");
    return "?";
  }
  const id = String(call.id);
  if (typeof call.id !== "string" || call.id === "") report("has a call without an id");
  else if (ids.has(id)) report(`has a second call ${id}`);
  ids.add(id);
  if (call.type !== "function") report(`has a call of type ${String(call.type)}`);
  const { name, arguments: args } = call.function;
  if (typeof name !== "string" || !toolName.test(name)) report(`calls a tool of the name ${JSON.stringify(name)}`);
  if (!isObjectText(args)) report(`has arguments of call ${id} that are no JSON object as text`);
  return id;
}

function checkResult({ tool_call_id: id, content }: Fields, walk: Walk): void {
  const at = walk.open.indexOf(String(id));
  if (at === -1) walk.report(`answers no open call: ${String(id)}`);
  else if (at > 0) walk.report(`answers ${String(id)} before ${String(walk.open[0])}`);
  walk.open = walk.open.filter((open) => open !== id);
  if (typeof content !== "string" && !Array.isArray(content)) walk.report("has no content");
}

function checkTools({ tools, tool_choice: choice }: Fields): readonly string[] {
  if (tools === undefined) return choice === undefined ? [] : ["there is a tool choice and no tool"];
  if (!Array.isArray(tools) || tools.length === 0) return ["the list of tools is empty"];
  const names = new Set<unknown>();
  const violations = tools.flatMap((tool: unknown) => checkTool(tool, names));
  const { name: chosen } = functionOf(choice);
  if (chosen === undefined || names.has(chosen)) return violations;
  return [...violations, `the chosen tool ${JSON.stringify(chosen)} is not offered`];
}

function checkTool(tool: unknown, names: Set<unknown>): readonly string[] {
  const { name, parameters } = functionOf(tool);
  const shown = JSON.stringify(name);
  const violations: string[] = [];
  if (typeof name !== "string" || !toolName.test(name)) violations.push(`there is a tool of the name ${shown}`);
  if (names.has(name)) violations.push(`there are two tools of the name ${shown}`);
  if (!isFields(parameters)) violations.push(`the tool ${shown} has no schema`);
  names.add(name);
  return violations;
}

function functionOf(entry: unknown): Fields {
  return isFields(entry) && entry.type === "function" && isFields(entry.function) ? entry.function : {};
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isObjectText(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    return isFields(JSON.parse(text));
  } catch {
    return false;
  }
}
