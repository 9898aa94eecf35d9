interface Fields {
  readonly [field: string]: unknown;
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/;
const inputParts = new Set(["input_text", "input_image", "input_file"]);
const outputParts = new Set(["output_text", "refusal"]);
const outputOf = new Map<unknown, string>([
  ["function_call", "function_call_output"],
  ["custom_tool_call", "custom_tool_call_output"],
]);

/**
 * Returns the rules that the body of a Responses request breaks. Each call needs exactly one output of the matching type, before
 * the next user message. Call ids are unique and at most 64 characters long. Arguments are an object as JSON text. Tool names
 * match the pattern of the API. Reasoning is followed by another item of the same response. With `store: false`, items have no
 * ids, and reasoning has readable or encrypted content.
 */
export function checkResponsesContract(body: unknown): readonly string[] {
  if (!isFields(body)) return ["the body is no object"];
  const violations: string[] = [];
  if (typeof body.model !== "string" || body.model === "") violations.push("there is no model");
  if (typeof body.store !== "boolean") violations.push("it is not said whether to store");
  if (!Array.isArray(body.input) || body.input.length === 0) violations.push("there is no input");
  else violations.push(...checkInput(body.input, body.store !== false));
  violations.push(...checkTools(body));
  return violations;
}

interface Walk {
  readonly open: Map<string, string>;
  readonly ids: Set<string>;
  readonly stored: boolean;
  reasoned: boolean;
  readonly report: (problem: string) => void;
}

function checkInput(input: readonly unknown[], stored: boolean): readonly string[] {
  const violations: string[] = [];
  let position = 0;
  const walk: Walk = {
    open: new Map(),
    ids: new Set(),
    stored,
    reasoned: false,
    report: (problem) => violations.push(`item ${position}: ${problem}`),
  };
  for (const item of input) {
    if (!isFields(item)) walk.report("is no object");
    else checkItem(item, walk);
    position += 1;
  }
  if (walk.reasoned) violations.push("the end: reasoning without what it belongs to");
  if (walk.open.size > 0) violations.push(`the end: not answered: ${[...walk.open.keys()].join(", ")}`);
  return violations;
}

const outputTypes = new Set<unknown>(outputOf.values());

/** If an item of one of these types has an id, the service looks for it among stored items. */
const lookedUp = new Set<unknown>(["message", "reasoning", ...outputOf.keys()]);

function checkItem(item: Fields, walk: Walk): void {
  const { type = "message", id } = item;
  const isOurs = type === "message" ? item.role !== "assistant" : outputTypes.has(type);
  if (walk.reasoned && isOurs) walk.report("comes after reasoning that it does not belong to");
  walk.reasoned = type === "reasoning";
  if (!walk.stored && id !== undefined && lookedUp.has(type)) walk.report(`has the id ${JSON.stringify(id)}, which nobody knows`);
  checksByType.get(type)?.(item, walk);
}

const checksByType = new Map<unknown, (item: Fields, walk: Walk) => void>([
  ["message", checkMessage],
  ["reasoning", checkReasoning],
  ...[...outputOf.keys()].map((type) => [type, checkCall] as const),
  ...[...outputTypes].map((type) => [type, checkOutput] as const),
]);

function checkMessage({ role, content }: Fields, { open, report }: Walk): void {
  if (role === "user" && open.size > 0) report(`comes before the answer to ${[...open.keys()].join(", ")}`);
  const known = role === "user" ? inputParts : role === "assistant" ? outputParts : undefined;
  if (known === undefined) return report(`has the unknown role ${String(role)}`);
  if (content === "" && role === "assistant") return report("has no content");
  if (typeof content !== "string") checkParts(content, known, report);
}

function checkParts(parts: unknown, known: ReadonlySet<string>, report: Walk["report"]): void {
  if (!Array.isArray(parts) || parts.length === 0) return report("has no content");
  for (const part of parts) if (!isFields(part) || !known.has(String(part.type))) report("has an unknown part");
}

function checkReasoning({ summary, content, encrypted_content: encrypted, status }: Fields, { stored, report }: Walk): void {
  if (!Array.isArray(summary)) report("has no summary");
  if (status !== undefined) report("has a status, which only the service writes");
  const isOpen = Array.isArray(content) && content.length > 0;
  if (!stored && typeof encrypted !== "string" && !isOpen) report("is reasoning that cannot be read");
}

function checkCall(item: Fields, { open, ids, report }: Walk): void {
  const { type, call_id: id, name, arguments: args, input } = item;
  if (typeof id !== "string" || id === "" || id.length > 64) return report(`has a call with the id ${JSON.stringify(id)}`);
  if (ids.has(id)) report(`has a second call ${id}`);
  ids.add(id);
  open.set(id, String(outputOf.get(type)));
  if (typeof name !== "string" || !toolName.test(name)) report(`calls a tool of the name ${JSON.stringify(name)}`);
  if (type === "function_call" && !isObjectText(args)) report(`has arguments of call ${id} that are no JSON object as text`);
  if (type === "custom_tool_call" && typeof input !== "string") report(`has no input of call ${id}`);
}

function checkOutput({ type, call_id: id, output }: Fields, { open, report }: Walk): void {
  const expected = open.get(String(id));
  if (expected === undefined) report(`answers no open call: ${String(id)}`);
  else if (expected !== type) report(`answers ${String(id)} as ${String(type)}`);
  open.delete(String(id));
  if (typeof output !== "string") checkParts(output, inputParts, report);
}

function checkTools({ tools, tool_choice: choice }: Fields): readonly string[] {
  if (tools === undefined) return choice === undefined ? [] : ["there is a tool choice and no tool"];
  if (!Array.isArray(tools) || tools.length === 0) return ["the list of tools is empty"];
  const kinds = new Map<unknown, unknown>();
  const violations = tools.flatMap((tool: unknown) => checkTool(tool, kinds));
  if (!isFields(choice) || kinds.get(choice.name) === choice.type) return violations;
  return [...violations, `the chosen tool ${JSON.stringify(choice.name)} is not offered so`];
}

function checkTool(tool: unknown, kinds: Map<unknown, unknown>): readonly string[] {
  if (!isFields(tool)) return ["there is a tool that is not an object"];
  const { type, name, parameters, strict } = tool;
  // A tool of the provider has a type but no name.
  if (type !== "function" && type !== "custom") return typeof type === "string" ? [] : ["there is a tool without a type"];
  const shown = JSON.stringify(name);
  const violations: string[] = [];
  if (typeof name !== "string" || !toolName.test(name)) violations.push(`there is a tool of the name ${shown}`);
  if (kinds.has(name)) violations.push(`there are two tools of the name ${shown}`);
  if (type === "function" && !isFields(parameters)) violations.push(`the tool ${shown} has no schema`);
  if (type === "function" && strict !== false) violations.push(`the tool ${shown} would be read as strict`);
  kinds.set(name, type);
  return violations;
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
