// Says in words what has changed of a tool.

import type { ToolChange, ToolChangeKind } from "../types/tool-change.ts";
import { quote } from "../utils/describe-value.ts";

type Words = { readonly [Kind in ToolChangeKind]: (change: { readonly place: string; readonly values: string }) => string };

/** Each reads on after the tool's name; a kind without words does not compile. */
const words: Words = {
  removed: () => "is gone",
  "source-changed": ({ values }) => `is another tool of its server${values}`,
  "field-removed": ({ place }) => `no longer has the field${place}`,
  "required-field-added": ({ place }) => `requires the field${place}`,
  "type-changed": ({ place, values }) => `has another type${place}${values}`,
  "constraint-changed": ({ place, values }) => `has another rule${place}${values}`,
  "description-changed": ({ place }) => `has another description${place}`,
  "default-changed": ({ place, values }) => `has another default${place}${values}`,
  "trait-changed": ({ place }) => `has another value of the trait${place}`,
};

/** Such as: "pay" has another type in "amount": string, was number. */
export function describeChange({ toolName, kind, field, was = "none", now = "none" }: ToolChange): string {
  const isField = kind === "field-removed" || kind === "required-field-added" || kind === "trait-changed";
  const place = field === undefined ? "" : `${isField ? " " : " in "}${quote(field)}`;
  return `${quote(toolName)} ${words[kind]({ place, values: `: ${now}, was ${was}` })}`;
}
