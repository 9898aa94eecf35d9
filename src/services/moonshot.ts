import { newerKimi, alwaysThinkingKimi } from "./name-patterns.ts";
import type { Rule } from "./rule.ts";
import { eachSchema } from "../shared/adapters/object-schema.ts";
import { firstOf, recordAt, show, when } from "./rule-checks.ts";
import type { ChatStyle } from "./oddities.ts";

/** True for models that think unless the request turns thinking off. */
function thinksAtMoonshot(model: string, body: object): boolean {
  return /kimi-(?:k2\.[5-9]|k2-thinking|latest|k[3-9])/i.test(model) && recordAt(body, "thinking").type !== "disabled";
}

/** Returns the problem with a node of a schema in Moonshot's dialect of JSON Schema, if there is one. */
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
    rule: "A description or title stands next to a `$ref` or in its target, not in both.",
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
    rule: "While a model before K3 is thinking, calls cannot be forced. K3 accepts `required`.",
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
    breaks: ({ model, body }) => alwaysThinkingKimi.test(model) && recordAt(body, "thinking").type === "disabled",
    says: "invalid thinking: only type=enabled is allowed for this model",
  },
  {
    rule: "From K2.5 on, `temperature` is 1 and `top_p` is 0.95.",
    source: "gemini-cli-pro#30, github.com/Warma10032/VideoAdGuard#34",
    refuses: ({ model, body }) => {
      if (!newerKimi.test(model)) return undefined;
      const temperature = recordAt(body, "thinking").type === "disabled" ? 0.6 : 1;
      if ((body.temperature ?? temperature) !== temperature)
        return `invalid temperature: only ${temperature} is allowed for this model`;
      return when((body.top_p ?? 0.95) !== 0.95, "invalid top_p: only 0.95 is allowed for this model");
    },
  },
  {
    rule: "While the model is thinking, every assistant message with calls has `reasoning_content`.",
    source: "github.com/earendil-works/pi#8075",
    of: "items",
    breaks: ({ at, fields }, { model, body, calls }) =>
      thinksAtMoonshot(model, body) && calls.some((call) => call.at === at) && typeof fields.reasoning_content !== "string",
    says: ({ at }) => `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`,
  },
];

export const moonshotStyle: ChatStyle = { reasoning: "reasoning_content", oddities: ["usage-in-choice"] };
