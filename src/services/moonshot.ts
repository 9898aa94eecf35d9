import type { Service } from "./service.ts";
import type { Rule } from "./rule.ts";
import { eachSchema, firstOf, recordAt, show, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";
import { isRecord, listOf, recordOf } from "../core/kit.ts";
import type { Json, JsonSchema } from "../core/index.ts";
import { resolveReference } from "../shared/root-schema.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { createConverter, type ToolConverter } from "./tool-schemas.ts";

interface Conversion {
  readonly root: JsonSchema;
  /** The definitions that references point to, by name. */
  readonly definitions: Map<string, unknown>;
  /** How many references in `allOf` may still be replaced with their targets. A schema may refer to itself. */
  inlines: number;
}

/**
 * Converts the schema of a tool to Moonshot's flavor of JSON Schema (github.com/MoonshotAI/walle docs/walle.md). Every node has a type,
 * except beside `anyOf` and `$ref`. References point to `$defs` of the root, and a required property is declared. The result may accept
 * more than the schema, so the run validates the arguments with the schema itself.
 */
const toMoonshotTool: ToolConverter = /* @__PURE__ */ createConverter((root) => {
  const conversion: Conversion = { root, definitions: new Map(), inlines: 100 };
  const schema = convert(root, conversion);
  const $defs = Object.fromEntries(conversion.definitions);
  return conversion.definitions.size === 0 ? schema : { ...schema, $defs };
});

/** Keywords that the flavor does not have and that contain schemas. */
const dropped = [
  ...["$defs", "definitions", "$schema", "$id", "$anchor", "$comment", "not", "if", "then", "else", "contains", "propertyNames"],
  ...["patternProperties", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"],
];

const anyType = ["string", "number", "boolean", "object", "array", "null"].map((type) => ({ type }));

function convert(node: unknown, conversion: Conversion): UnknownRecord {
  const { $ref: reference, allOf, oneOf, anyOf = oneOf, ...keywords } = recordOf(node);
  if (typeof reference === "string") return refer(reference, textsIn(keywords), conversion);
  const [part, ...parts] = listOf(allOf);
  if (part !== undefined) {
    const isAlone = parts.length === 0 && findType(keywords) === undefined;
    const all = isAlone ? [recordOf(part)] : [part, ...parts].map((one) => inline(one, conversion));
    return convert(all.reduce(merge, { ...keywords, ...(anyOf === undefined ? {} : { anyOf }) }), conversion);
  }
  const { type = findType(keywords), properties, items } = keywords;
  const branches = listOf(anyOf);
  // The branches say only which of the properties belong together.
  if (branches.length === 0 || properties !== undefined || items !== undefined) return convertOne(keywords, type, conversion);
  const typed = branches.map((branch) => (type !== undefined && isRecord(branch) ? { type, ...branch } : branch));
  return { ...textsIn(keywords), anyOf: typed.map((branch) => convert(branch, conversion)) };
}

function convertOne(keywords: UnknownRecord, type: unknown, conversion: Conversion): UnknownRecord {
  if (type === undefined) return { ...textsIn(keywords), anyOf: anyType };
  const { properties, required, prefixItems: tuple, items: every, additionalProperties: rest, ...others } = keywords;
  // Without the tuple, `items` would also apply to its values.
  const items = tuple === undefined ? every : {};
  const known = Object.entries(recordOf(properties));
  const names = new Set<unknown>(known.map(([name]) => name));
  const kept = Object.entries(others).filter(([keyword]) => !dropped.includes(keyword));
  const isOpen = isRecord(rest) && Object.keys(rest).length > 0;
  return {
    ...Object.fromEntries(kept),
    type,
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(known.map(([name, one]) => [name, convert(one, conversion)])) }),
    ...(required === undefined ? {} : { required: listOf(required).filter((name) => names.has(name)) }),
    ...(items === undefined ? {} : { items: convert(items, conversion) }),
    ...(rest === undefined ? {} : { additionalProperties: isOpen ? convert(rest, conversion) : rest !== false }),
  };
}

function textsIn({ title, description }: UnknownRecord): UnknownRecord {
  return { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
}

/**
 * Moves the target of a reference to `$defs` of the root. A text beside the reference is refused if the target has one, too: "conflicting
 * keywords found after $ref expansion: description" (github.com/MoonshotAI/kimi-cli/issues/1903).
 */
function refer(reference: string, texts: UnknownRecord, conversion: Conversion): UnknownRecord {
  const { root, definitions } = conversion;
  const target = resolveReference(root, reference);
  if (target === undefined) return { ...texts, anyOf: anyType };
  const name = reference.replace(/^#\/?(?:\$defs\/|definitions\/)?/, "").replaceAll(/[^\w.-]+/g, "_") || "root";
  if (!definitions.has(name)) {
    definitions.set(name, undefined);
    definitions.set(name, convert(target, conversion));
  }
  // A definition that refers to itself is not made yet.
  const told = recordOf(definitions.get(name) ?? target);
  const own = Object.entries(texts).filter(([keyword]) => !Object.hasOwn(told, keyword));
  return { ...Object.fromEntries(own), $ref: `#/$defs/${name}` };
}

function inline(part: unknown, conversion: Conversion): UnknownRecord {
  const { $ref: reference, ...keywords } = recordOf(part);
  if (typeof reference !== "string" || conversion.inlines === 0) return keywords;
  conversion.inlines -= 1;
  return merge(recordOf(resolveReference(conversion.root, reference)), keywords);
}

function merge(one: UnknownRecord, other: UnknownRecord): UnknownRecord {
  const properties = { ...recordOf(one.properties), ...recordOf(other.properties) };
  const required = [...listOf(one.required), ...listOf(other.required)];
  return {
    ...one,
    ...other,
    ...textsIn(one),
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** The types whose values the keywords describe, by keyword. */
const typeByKeyword: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ["object", ["properties", "required", "additionalProperties", "patternProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "uniqueItems"]],
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];

function findType(node: UnknownRecord): unknown {
  const { type, enum: values, const: value } = node;
  if (type !== undefined) return type;
  const types = new Set([...listOf(values), ...("const" in node ? [value as Json] : [])].map(typeOf));
  // The values of a list have one type, or one type and null.
  if (types.size > 0) return types.size === 1 ? [...types][0] : types.size === 2 && types.has("null") ? [...types] : undefined;
  return typeByKeyword.find(([, keywords]) => keywords.some((keyword) => keyword in node))?.[0];
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

const newer = /kimi-(?:k2\.[5-9]|k[3-9]|for-coding)|^k[3-9]/i;
const alwaysThinking = /kimi-(?:k2\.[7-9]|k2-thinking|for-coding)/i;

/**
 * Kimi models think unless they are told not to, and K3 always thinks. While they think, they refuse a forced call, except that K3
 * accepts "required" (github.com/can1357/oh-my-pi/issues/1077, platform.kimi.ai/docs/guide/use-reasoning-effort). A message with calls
 * must have `reasoning_content` (github.com/earendil-works/pi/issues/8075). K2.7 refuses to stop thinking
 * (github.com/can1357/oh-my-pi/issues/3852). Models from K2.5 on set `temperature` and `top_p` themselves
 * (github.com/iOfficeAI/gemini-cli-pro/pull/30, github.com/shandianshuo/shandianshuo-releases/issues/13). The models expect ids such as "functions.read:0" back.
 * Names of tools begin with a letter (github.com/MoonshotAI/kimi-cli/issues/1595).
 */
export const moonshot: Service = {
  name: "moonshot",
  address: /(?:^|\.)(?:moonshot\.(?:ai|cn)|kimi\.(?:ai|com))$/,
  id: /^(?:moonshot|kimi)/,
  quirks: { maxTokensField: "max_tokens", toolNames: /^[a-z]/i, toTool: toMoonshotTool },
  models: [
    { model: newer, quirks: { fixedSampling: true } },
    { model: /kimi-(?:k2\.[56]|latest)/i, quirks: { forcedChoice: { thinking: { type: "disabled" } } } },
    { model: alwaysThinking, quirks: { forcedChoice: "never" } },
    { model: /kimi-k[3-9]/i, quirks: { namedChoice: "single" } },
  ],
  everywhere: [
    { model: /kimi-/i, quirks: { callIds: "any", toolNames: /^[a-z]/i, toTool: toMoonshotTool } },
    { model: /kimi-(?:k2\.[5-9]|k2-thinking|latest|k[3-9])/i, quirks: { echoReasoning: "reasoning_content" } },
  ],
};

/** True for the models that think unless the request says otherwise. */
function thinksAtMoonshot(model: string, body: object): boolean {
  return /kimi-(?:k2\.[5-9]|k2-thinking|latest|k[3-9])/i.test(model) && recordAt(body, "thinking").type !== "disabled";
}

/** Returns the problem of one node of a schema in Moonshot's flavor of JSON Schema. */
function findProblem(node: unknown): string | undefined {
  const { type, $ref: ref, anyOf } = recordAt(node);
  if (typeof node === "boolean") return "boolean schema is not supported";
  if (ref !== undefined) {
    if (!show(ref).startsWith("#/$defs/")) return "references must start with #/$defs/";
    return when(type !== undefined, "when using $ref, type should be defined in the referenced schema");
  }
  if (anyOf !== undefined)
    return when(type !== undefined, "when using anyOf, type should be defined in anyOf items instead of the parent schema");
  return when(type === undefined, "type is not defined");
}

export const moonshotRules: readonly Rule[] = [
  {
    rule: "Every node of a tool schema has a type. With anyOf the items have it, with `$ref` the target. References begin with `#/$defs/`.",
    source: "github.com/MoonshotAI/kimi-cli#1595, #2061, #2531, oh-my-pi#5952",
    refuses: ({ tools }) =>
      firstOf(tools, ({ schema }) =>
        firstOf(eachSchema(schema), ([node, path]) => {
          const problem = findProblem(node);
          const at = path === "" ? "" : path.replaceAll("/", "~1");
          return problem === undefined
            ? undefined
            : `tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '${at}': ${problem}>`;
        }),
      ),
  },
  {
    rule: "A description or title stands beside a `$ref` or in its target, not in both.",
    source: "github.com/MoonshotAI/kimi-cli#1903",
    refuses: ({ tools }) =>
      firstOf(tools, ({ schema }) =>
        firstOf(eachSchema(schema), ([node, path]) => {
          const fields = recordAt(node);
          const target = recordAt(
            schema,
            ...show(fields.$ref ?? "")
              .split("/")
              .slice(1),
          );
          const both = ["description", "title"].find((keyword) => keyword in fields && keyword in target);
          return when(
            fields.$ref !== undefined && both !== undefined,
            `tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '${path}': conflicting keywords found after $ref expansion: ${show(both)}>`,
          );
        }),
      ),
  },
  {
    rule: "The name of a tool begins with a letter.",
    source: "CLIProxyAPI#5316",
    of: "tools",
    breaks: ({ name }) => !/^[a-zA-Z]/.test(name),
    says: "Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes",
  },
  {
    rule: "While a model before K3 thinks, calls cannot be forced. K3 takes `required`.",
    source: "oh-my-pi#1077, sim#5716",
    refuses: ({ model, body: { tool_choice: choice, ...body } }) => {
      if (!thinksAtMoonshot(model, body) || choice === undefined || choice === "auto" || choice === "none") return undefined;
      const word = choice === "required" ? "required" : "specified";
      return when(
        !/kimi-k[3-9]/i.test(model) || word === "specified",
        `tool_choice '${word}' is incompatible with thinking enabled`,
      );
    },
  },
  {
    rule: "Some models always think.",
    source: "github.com/can1357/oh-my-pi#3852, github.com/lobehub/lobehub#15725",
    breaks: ({ model, body }) => alwaysThinking.test(model) && recordAt(body, "thinking").type === "disabled",
    says: "invalid thinking: only type=enabled is allowed for this model",
  },
  {
    rule: "From K2.5 on, `temperature` is 1 and `top_p` is 0.95.",
    source: "gemini-cli-pro#30, github.com/Warma10032/VideoAdGuard#34",
    refuses: ({ model, body }) => {
      if (!newer.test(model)) return undefined;
      const temperature = recordAt(body, "thinking").type === "disabled" ? 0.6 : 1;
      if ((body.temperature ?? temperature) !== temperature)
        return `invalid temperature: only ${temperature} is allowed for this model`;
      return when((body.top_p ?? 0.95) !== 0.95, "invalid top_p: only 0.95 is allowed for this model");
    },
  },
  {
    rule: "While the model thinks, every assistant message with calls has `reasoning_content`.",
    source: "github.com/earendil-works/pi#8075",
    of: "items",
    breaks: ({ at, fields }, { model, body, calls }) =>
      thinksAtMoonshot(model, body) && calls.some((call) => call.at === at) && typeof fields.reasoning_content !== "string",
    says: ({ at }) => `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`,
  },
];

export const moonshotStyle: ChatStyle = { reasoning: "reasoning_content", oddities: ["usage-in-choice"] };
