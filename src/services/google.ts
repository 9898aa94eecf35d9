import { isRecord } from "../core/kit.ts";
import type { Refused, Rule } from "./rule.ts";
import { eachSchema } from "../shared/adapters/object-schema.ts";
import { firstOf, recordAt, recordsIn, repeatedTool, show, sniffType, unknownField, when } from "./rule-checks.ts";

/** The fields that a request and its `generationConfig` may contain (@google/genai@2.32.0 dist/genai.d.ts). */
const contentFields = [
  "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels serviceTier continuationToken store",
];
const configFields = [
  "modelSelectionConfig responseJsonSchema audioTimestamp candidateCount enableAffectiveDialog frequencyPenalty logprobs",
  "maxOutputTokens mediaResolution presencePenalty responseFormat responseLogprobs responseMimeType responseModalities responseSchema",
  "routingConfig seed speechConfig stopSequences temperature thinkingConfig topK topP enableEnhancedCivicAnswers translationConfig",
];

const asksAfter = "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";

/** The rules of the Gemini API and Vertex AI. */
export const googleRules: readonly Rule[] = [
  {
    rule: "A request has only fields that the API defines.",
    source: "@google/genai@2.32.0 dist/genai.d.ts, forgecode#3426",
    refuses: ({ body }) => {
      const say = (at: string) => (name: string) =>
        `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`;
      return (
        unknownField(body, contentFields, say("")) ??
        unknownField(recordAt(body, "generationConfig"), configFields, say(" at 'generation_config'"))
      );
    },
  },
  {
    rule: "A request has contents.",
    source: "https://ai.google.dev/api/generate-content",
    refuses: ({ items }) => when(items.length === 0, "* GenerateContentRequest.contents: contents is not specified"),
  },
  {
    rule: "A role is user or model.",
    source: "https://ai.google.dev/api/caching#Content",
    of: "items",
    breaks: ({ role }) => !["user", "model"].includes(role),
    says: "Please use a valid role: user, model.",
  },
  {
    rule: "A content entry has parts.",
    source: "github.com/vercel/ai#3775, dify#30566",
    of: "items",
    breaks: ({ parts }) => parts.length === 0,
    says: ({ at }) => `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`,
  },
  {
    rule: "A part has one kind of data. Only a part with a signature has empty text.",
    source: "sketch#68",
    refuses: ({ items }) =>
      firstOf(items, ({ parts, at }) =>
        firstOf(parts.entries(), ([index, part]) => {
          const kinds = Object.keys(part).filter(
            (name) => !["thought", "thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution"].includes(name),
          );
          const isEmpty = kinds.length !== 1 || (part.text === "" && part.thoughtSignature === undefined);
          return when(
            isEmpty,
            `* GenerateContentRequest.contents[${at}].parts[${index}].data: required oneof field 'data' must have one initialized field`,
          );
        }),
      ),
  },
  {
    rule: "A function call comes directly after a user turn or after function responses.",
    source: "gemini-cli#26486, #11814",
    of: "calls",
    breaks: ({ at }, { items }) => at === 0 || items[at - 1]?.role !== "user",
    says: asksAfter,
  },
  {
    rule: "Function responses come directly after the function calls.",
    source: "gemini-cli#11814, lobehub#7298",
    of: "results",
    breaks: ({ at }, { calls }) => !calls.some((call) => call.at === at - 1),
    says: "Please ensure that function response turn comes immediately after a function call turn.",
  },
  {
    rule: "A turn after function calls has as many responses as there are calls.",
    source: "gemini-cli#3814, vscode#299295",
    of: "items",
    breaks: ({ at }, { results, calls, items }) => {
      const asked = calls.filter((call) => call.at === at).length;
      const answered = results.filter((result) => result.at === at + 1).length;
      return asked > 0 && asked !== answered && at < items.length - 1;
    },
    says: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
  },
  {
    rule: "A response has the name of its call.",
    source: "https://ai.google.dev/gemini-api/docs/function-calling",
    of: "results",
    breaks: ({ at, name, id }, { calls }) => {
      const asked = calls.filter((call) => call.at === at - 1);
      return !asked.some((call) => call.name === name && (id === undefined || call.id === undefined || call.id === id));
    },
    says: ({ name }) => `Function response name '${name}' does not match a function call of the turn before it.`,
  },
  {
    rule: "A history does not end with the role model.",
    source: "crewAI#6973",
    breaks: ({ items }) => items[items.length - 1]?.role === "model",
    says: "Please ensure that single turn requests end with a user role or the role field is empty.",
  },
  {
    rule: "With Gemini 3 and 4, the first function call of each turn has its signature.",
    source: "https://ai.google.dev/gemini-api/docs/generate-content/thought-signatures",
    refuses: ({ calls, model }) => {
      if (!/gemini-[34]/.test(model)) return undefined;
      return firstOf(calls, ({ at, name, fields }) => {
        const isFirst = calls.find((call) => call.at === at)?.fields === fields;
        const said =
          "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance.";
        return when(
          isFirst && typeof fields.thoughtSignature !== "string",
          `${said} Additional data, function call \`default_api:${name}\`, position ${at}.`,
        );
      });
    },
  },
  {
    rule: "A signature comes from this service, or is the documented placeholder.",
    source: "https://ai.google.dev/gemini-api/docs/generate-content/thought-signatures",
    refuses: ({ items, model }) => {
      if (!/gemini-[34]/.test(model)) return undefined;
      const signatures = items.flatMap(({ parts }) => parts.map(({ thoughtSignature }) => thoughtSignature));
      const isKnown = (signature: unknown): boolean =>
        signature === undefined || signature === "skip_thought_signature_validator" || show(signature).startsWith("Z2VtaW5p");
      return when(!signatures.every(isKnown), "Invalid thought signature.");
    },
  },
  {
    rule: "The name of a function begins with a letter or underscore, and has at most 64 characters.",
    source: "bifrost#1979, gemini-cli#20987",
    refuses: ({ tools, calls }) =>
      firstOf([...tools, ...calls], ({ name }) =>
        when(
          !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name),
          "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        ),
      ),
  },
  {
    rule: "No two functions have the same name.",
    source: "https://ai.google.dev/gemini-api/docs/function-calling",
    refuses: (request) => {
      const tool = repeatedTool(request);
      return tool === undefined ? undefined : `Duplicate function declaration found: ${tool.name}`;
    },
  },
  {
    rule: "`parameters` has only keywords of the OpenAPI subset. `parametersJsonSchema` may have any JSON Schema.",
    source: "forgecode#3426, AstrBot-desktop#83",
    refuses: ({ body }) =>
      firstOf(
        recordsIn(body.tools).flatMap(({ functionDeclarations }) => recordsIn(functionDeclarations)),
        ({ parameters }) =>
          firstOf(eachSchema(parameters), ([node]) => {
            const known =
              "type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum";
            return unknownField(
              recordAt(node),
              [known],
              (name) =>
                `Invalid JSON payload received. Unknown name "${name}" at 'tools[0].function_declarations[0].parameters': Cannot find field.`,
            );
          }),
      ),
  },
  {
    rule: "The parameters of a function are an object.",
    source: "https://ai.google.dev/gemini-api/docs/function-calling",
    of: "tools",
    breaks: ({ schema }) => schema !== undefined && !(isRecord(schema) && show(schema.type).toLowerCase() === "object"),
    says: ({ name }) =>
      `* GenerateContentRequest.tools[0].function_declarations[0].parameters: ${name}: schema type should be OBJECT`,
  },
  {
    rule: "Each array in `parametersJsonSchema` or `parameters` has `items`.",
    source: "gemini-cli#5923",
    refuses: ({ tools }) =>
      firstOf(tools, ({ schema }) =>
        firstOf(eachSchema(schema), ([node, path]) =>
          when(
            show(recordAt(node).type).toLowerCase() === "array" &&
              recordAt(node).items === undefined &&
              recordAt(node).prefixItems === undefined,
            `* GenerateContentRequest.tools[0].function_declarations[0].parameters.${path}.items: missing field.`,
          ),
        ),
      ),
  },
  {
    rule: "A function calling config needs functions, and its allowed names must be declared.",
    source: "https://ai.google.dev/gemini-api/docs/function-calling",
    refuses: ({ body, tools }) => {
      const config = recordAt(body, "toolConfig", "functionCallingConfig");
      if (Object.keys(config).length === 0) return undefined;
      if (tools.length === 0) return "Function calling config is set without function_declarations.";
      const allowed: readonly unknown[] = Array.isArray(config.allowedFunctionNames) ? config.allowedFunctionNames : [];
      if (allowed.length > 0 && config.mode !== "ANY")
        return "Allowed function names should only be set when function calling mode is ANY.";
      const unknown = allowed.find((name) => tools.every((tool) => tool.name !== name));
      return when(unknown !== undefined, `Allowed function name ${show(unknown)} is not declared in function_declarations.`);
    },
  },
  {
    rule: "A request with cached content has no system instruction or tools.",
    source: "langchain-google#1618",
    breaks: ({ body }) =>
      body.cachedContent !== undefined && (body.systemInstruction ?? body.tools ?? body.toolConfig) !== undefined,
    says: "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.",
  },
  {
    rule: "A media type is one that Gemini accepts.",
    source: "https://ai.google.dev/gemini-api/docs/file-input-methods, pollinations#4157",
    of: "media",
    breaks: ({ mediaType }) =>
      !/^(?:image\/(?:png|jpeg|webp|heic|heif)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/[\w.+-]+|application\/pdf)$/.test(mediaType),
    says: ({ mediaType }) => `Unsupported MIME type: ${mediaType}`,
  },
  {
    rule: "An image has the bytes of an image.",
    source: "js-genai#862, gemini-cli#3054",
    of: "media",
    breaks: ({ kind, data }) => kind === "image" && data !== undefined && sniffType(data)?.startsWith("image/") !== true,
    says: "Unable to process input image.",
  },
  {
    rule: "A request has at most 5 stop sequences.",
    source: "https://ai.google.dev/api/generate-content#v1beta.GenerationConfig",
    breaks: ({ body }) => {
      const { stopSequences } = recordAt(body, "generationConfig");
      return Array.isArray(stopSequences) && stopSequences.length > 5;
    },
    says: "The number of stop sequences must be at most 5.",
  },
];

export const toGoogleError = ({ status, message }: Refused): object => ({
  error: { code: status, message, status: googleStatus(status) },
});

function googleStatus(status: number): string {
  const known: { readonly [status: number]: string } = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
  };
  return known[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
}
