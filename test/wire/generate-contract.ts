interface Fields {
  readonly [field: string]: unknown;
}

export interface ContractRules {
  /** True if every message with calls needs a signature, as with Gemini 3. Default true. */
  readonly signed?: boolean;
}

const functionName = /^[a-zA-Z_][\w.:-]{0,127}$/;
const userParts = new Set(["text", "inlineData", "fileData", "functionResponse"]);
const modelParts = new Set([
  "text",
  "inlineData",
  "functionCall",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
]);

/**
 * Returns the rules that the body of a `generateContent` request breaks. Roles alternate, and the user is first. Each part has
 * exactly one kind of content. The content after calls begins with one response for each call, in the same order and with the same
 * names and ids. Only a part with a signature may be empty.
 */
export function checkGenerateContract(body: unknown, { signed = true }: ContractRules = {}): readonly string[] {
  if (!isFields(body)) return ["the body is no object"];
  const violations: string[] = [];
  const { contents, systemInstruction } = body;
  if (!Array.isArray(contents) || contents.length === 0) violations.push("there are no contents");
  else violations.push(...checkContents(contents, signed));
  if (systemInstruction !== undefined && isBlank(listOf(systemInstruction, "parts")[0]))
    violations.push("the system text is blank");
  return [...violations, ...checkTools(body)];
}

interface Walk {
  /** The calls in the previous content. The next content must begin with the responses to these calls. */
  open: readonly Fields[];
  readonly signed: boolean;
  readonly report: (problem: string) => void;
}

function checkContents(contents: readonly unknown[], signed: boolean): readonly string[] {
  const violations: string[] = [];
  let position = 0;
  const walk: Walk = { open: [], signed, report: (problem) => violations.push(`content ${position}: ${problem}`) };
  for (const content of contents) {
    const expected = position % 2 === 0 ? "user" : "model";
    const parts = listOf(content, "parts");
    if (!isFields(content) || content.role !== expected) walk.report(`is not of the ${expected}`);
    if (parts.length === 0) walk.report("has no parts");
    for (const part of parts) checkPart(part, expected === "user" ? userParts : modelParts, walk);
    if (expected === "user") checkAnswers(parts, walk);
    else checkTurn(parts, walk);
    position += 1;
  }
  return violations;
}

function checkPart(part: Fields, kinds: ReadonlySet<string>, { report }: Walk): void {
  const { thought: _, thoughtSignature: signature, partMetadata: _metadata, ...kind } = part;
  const names = Object.keys(kind);
  if (names.length !== 1 || !kinds.has(String(names[0]))) report(`has a part of ${names.join(" and ") || "nothing"}`);
  if (isBlank(part) && signature === undefined) report("has a blank text");
  const media = part.inlineData ?? part.fileData;
  if (media !== undefined) checkMedia(fieldsOf(media), report);
}

function checkMedia({ mimeType, data = "", fileUri = "" }: Fields, report: Walk["report"]): void {
  if (typeof mimeType !== "string" || !/^[\w.+-]+\/[\w.+-]+$/.test(mimeType)) report("has media without a type");
  if (`${String(data)}${String(fileUri)}` === "") report("has media without content");
}

function checkAnswers(parts: readonly Fields[], walk: Walk): void {
  const answers = parts.filter(({ functionResponse }) => functionResponse !== undefined);
  if (parts.slice(0, answers.length).some(({ functionResponse }) => functionResponse === undefined))
    walk.report("has responses after other parts");
  if (answers.length !== walk.open.length) walk.report(`has ${answers.length} answers to ${walk.open.length} calls`);
  for (const [position, answer] of answers.entries()) checkAnswer(answer, walk.open[position], walk);
  walk.open = [];
}

function checkAnswer(answer: Fields, call: Fields | undefined, { report }: Walk): void {
  const { id, name, response } = fieldsOf(answer.functionResponse);
  const asked = fieldsOf(call?.functionCall);
  if (name !== asked.name) report(`answers ${String(asked.name)} as ${String(name)}`);
  if (id !== asked.id) report(`answers the id ${String(asked.id)} as ${String(id)}`);
  if (!isFields(response)) report("has an answer that is no object");
}

function checkTurn(parts: readonly Fields[], walk: Walk): void {
  const calls = parts.filter(({ functionCall }) => functionCall !== undefined);
  for (const { functionCall } of calls) {
    const { name, args, partialArgs, willContinue } = fieldsOf(functionCall);
    if (typeof name !== "string" || !functionName.test(name)) walk.report(`calls a function of the name ${JSON.stringify(name)}`);
    if (args !== undefined && !isFields(args)) walk.report("has a call whose arguments are no object");
    if (partialArgs !== undefined || willContinue !== undefined) walk.report("has a call in pieces");
  }
  if (walk.signed && calls.length > 0 && parts.every(({ thoughtSignature }) => thoughtSignature === undefined))
    walk.report("has a step that is not signed");
  walk.open = calls;
}

function checkTools({ tools, toolConfig }: Fields): readonly string[] {
  if (tools === undefined) return toolConfig === undefined ? [] : ["there is a tool choice and no tool"];
  const declared = (Array.isArray(tools) ? tools : []).flatMap((tool) => listOf(tool, "functionDeclarations"));
  const names = declared.map(({ name }) => String(name));
  const violations = names.filter((name) => !functionName.test(name)).map((name) => `there is a tool of the name ${name}`);
  if (new Set(names).size < names.length) violations.push("there are two tools of one name");
  if (!declared.every(({ parametersJsonSchema }) => isFields(parametersJsonSchema)))
    violations.push("there is a tool without a schema");
  const { mode, allowedFunctionNames: allowed } = fieldsOf(fieldsOf(toolConfig).functionCallingConfig);
  if (allowed !== undefined && mode !== "ANY") violations.push(`allowed function names are set with the mode ${String(mode)}`);
  const missing = (Array.isArray(allowed) ? allowed : []).filter((name: unknown) => !names.includes(String(name)));
  return [...violations, ...missing.map((name) => `the chosen tool ${JSON.stringify(name)} is not offered`)];
}

function isBlank(part: Fields | undefined): boolean {
  return part !== undefined && typeof part.text === "string" && part.text.trim() === "";
}

function listOf(value: unknown, field: string): readonly Fields[] {
  const list = fieldsOf(value)[field];
  return Array.isArray(list) ? list.map(fieldsOf) : [];
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
