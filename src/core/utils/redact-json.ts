// Makes data short and free of secrets, for logs that people read.

import type { Json } from "../types/json.ts";
import { redactText } from "./redact-secrets.ts";
import { namesSecret } from "./secret-names.ts";

const redacted = "[redacted]";
const longestText = 500;
const longestKey = 100;
const mostItems = 50;
const mostValues = 500;
const deepestLevel = 8;

/**
 * Copies plain data for a place that is read by people: what stands under a key such as "password", "apiKey" or "Set-Cookie"
 * becomes "[redacted]", whatever it is; credentials within texts too. Case and separators of keys do not count.
 *
 * The copy is small: texts are cut to 500 UTF-16 units, keys to 100, arrays and objects to 50 items, levels to 8, and all of it
 * to 500 values. What is left out shows as "…". An own key "__proto__" stays data.
 *
 * @example redactJson({ city: "Oslo", "x-api-key": "abc" }) // { city: "Oslo", "x-api-key": "[redacted]" }
 */
export function redactJson(value: Json): Json {
  return redactValue(value, 0, { valuesLeft: mostValues });
}

interface Bounds {
  valuesLeft: number;
}

function redactValue(value: Json, depth: number, bounds: Bounds): Json {
  bounds.valuesLeft -= 1;
  if (typeof value === "string") return redactText(value, longestText);
  if (typeof value !== "object" || value === null) return value;
  if (depth === deepestLevel) return "…";
  return isArray(value) ? redactArray(value, depth, bounds) : redactRecord(value, depth, bounds);
}

function redactArray(values: readonly Json[], depth: number, bounds: Bounds): Json {
  const copy: Json[] = [];
  for (const value of values) {
    if (copy.length === mostItems || bounds.valuesLeft <= 0) return [...copy, "…"];
    copy.push(redactValue(value, depth + 1, bounds));
  }
  return copy;
}

function redactRecord(record: { readonly [key: string]: Json | undefined }, depth: number, bounds: Bounds): Json {
  const fields: [key: string, value: Json][] = [];
  for (const [key, value] of Object.entries(record)) {
    if (value === undefined) continue;
    if (fields.length === mostItems || bounds.valuesLeft <= 0) {
      fields.push(["…", "…"]);
      break;
    }
    fields.push([redactText(key, longestKey), redactValue(namesSecret(key) ? redacted : value, depth + 1, bounds)]);
  }
  // Defines its keys instead of assigning them, so that "__proto__" is one like others.
  return Object.fromEntries(fields);
}

function isArray(value: object): value is readonly Json[] {
  return Array.isArray(value);
}
