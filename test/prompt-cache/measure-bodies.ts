// Measures bodies that an SDK passes to `fetch`, without code of the package.

type Fields = { readonly [field: string]: unknown };

/** The parts of a body as JSON texts: tools, system texts, messages. */
type Parts = readonly [tools: readonly string[], system: readonly string[], messages: readonly string[]];

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);
const toTexts = (value: unknown): readonly string[] => listOf(value).map((part) => JSON.stringify(part));

function partsOf(body: unknown): Parts {
  const fields = withoutMarks(body) as Fields;
  const tools = listOf(fields["tools"]).flatMap((tool) => (tool as Fields)["functionDeclarations"] ?? [tool]);
  const messages = listOf(fields["messages"] ?? fields["input"] ?? fields["contents"]);
  const system = messages.filter((message) => (message as Fields)["role"] === "system");
  const own = fields["system"] ?? fields["systemInstruction"] ?? fields["instructions"];
  return [toTexts(tools), [...toTexts(own), ...toTexts(system)], toTexts(messages.slice(system.length))];
}

function withoutMarks(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, field: unknown) => (key === "cache_control" ? undefined : field));
}

const bytesOf = (texts: readonly string[]): number => Buffer.byteLength(texts.join(""));

/** Returns the size of a body, and with how many of its bytes the next body begins too. */
export function measureShared(before: unknown, next: unknown): { readonly bytes: number; readonly shared: number } {
  const [old, now] = [partsOf(before), partsOf(next)];
  const bytes = bytesOf(old.flat());
  let shared = 0;
  for (const [section, texts] of old.entries()) {
    const others = now[section] ?? [];
    for (const [at, text] of texts.entries()) {
      const other = others[at] ?? "";
      if (text !== other) return { bytes, shared: shared + bytesOf([commonStart(text, other)]) };
      shared += bytesOf([text]);
    }
    if (section < 2 && others.length > texts.length) return { bytes, shared };
  }
  return { bytes, shared };
}

/** Compares characters, not UTF-16 units. Two different characters may begin with the same half of a surrogate pair. */
function commonStart(one: string, other: string): string {
  const [characters, others] = [[...one], [...other]];
  const at = characters.findIndex((character, index) => character !== others[index]);
  return at === -1 ? one : characters.slice(0, at).join("");
}
