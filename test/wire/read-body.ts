// Reads texts and tool names from request bodies of every API.

type Content = string | readonly { readonly text?: string }[];
interface Said {
  readonly role?: string;
  readonly content?: Content;
  readonly parts?: Content;
}
interface Shown {
  readonly name?: string;
  readonly function?: { readonly name: string };
  readonly functionDeclarations?: readonly { readonly name: string }[];
}
interface Body {
  readonly messages?: readonly Said[];
  readonly input?: readonly Said[];
  readonly contents?: readonly Said[];
  readonly tools?: readonly Shown[];
}

export function userTextsIn(body: unknown): readonly string[] {
  const { messages, input, contents } = body as Body;
  return (messages ?? input ?? contents ?? [])
    .filter(({ role }) => role === "user")
    .flatMap(({ content, parts = content ?? [] }) =>
      typeof parts === "string" ? [parts] : parts.flatMap(({ text }) => text ?? []),
    );
}

export function toolNamesIn(body: unknown): readonly (string | undefined)[] {
  const { tools = [] } = body as Body;
  return tools.flatMap(({ name, function: { name: inner } = { name }, functionDeclarations: declared }) =>
    declared === undefined ? [inner] : declared.map((declaration) => declaration.name),
  );
}
