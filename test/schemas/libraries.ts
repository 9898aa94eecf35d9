// The arguments of one tool, described with four schema libraries: a city, a unit with a default, and a number of days that arrives
// as text.

import { toJsonSchema, toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import type { JsonSchema, StandardSchema } from "turnwright";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";
import { _default as withDefault } from "zod/mini";

interface Forecast {
  readonly city: string;
  readonly unit: "C" | "F";
  readonly days: number;
}

/** A schema. If it cannot produce a JSON Schema for the model, `jsonSchema` has one. */
export interface Described {
  readonly inputSchema: StandardSchema<unknown, Forecast>;
  readonly jsonSchema?: JsonSchema | undefined;
}

const zodForecast = z.object({
  city: z.string().min(2),
  unit: z.enum(["C", "F"]).default("C"),
  days: z.string().regex(/^\d+$/).transform(Number),
});

const miniForecast = mini.object({
  city: mini.string().check(mini.minLength(2)),
  unit: withDefault(mini.enum(["C", "F"]), "C"),
  days: mini.pipe(mini.string().check(mini.regex(/^\d+$/)), mini.transform(Number)),
});

const valibotForecast = v.object({
  city: v.pipe(v.string(), v.minLength(2)),
  unit: v.optional(v.picklist(["C", "F"]), "C"),
  days: v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number)),
});

const arktypeForecast = type({
  city: "string >= 2",
  unit: "'C' | 'F' = 'C'",
  days: type("string.digits").pipe((text) => Number(text)),
});

/** zod/mini and valibot cannot produce JSON Schemas themselves. */
const miniJson = z.toJSONSchema(miniForecast, { io: "input" }) as JsonSchema;
const valibotJson = toJsonSchema(valibotForecast, { typeMode: "input" }) as JsonSchema;

type Library = "zod" | "zod/mini" | "valibot" | "valibot and toStandardJsonSchema" | "arktype";

export const forecasts: Readonly<Record<Library, Described>> = {
  zod: { inputSchema: zodForecast },
  "zod/mini": { inputSchema: miniForecast, jsonSchema: miniJson },
  valibot: { inputSchema: valibotForecast, jsonSchema: valibotJson },
  "valibot and toStandardJsonSchema": { inputSchema: toStandardJsonSchema(valibotForecast) },
  arktype: { inputSchema: arktypeForecast },
};

const exists = async (city: string): Promise<boolean> => city !== "Atlantis";
const unknownCity = "there is no such city";
const cityJson = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;

/** Schemas with an asynchronous check, which arktype does not support. */
export const asking: Readonly<Record<string, { readonly inputSchema: StandardSchema; readonly jsonSchema?: JsonSchema }>> = {
  zod: { inputSchema: z.object({ city: z.string().refine(exists, unknownCity) }) },
  "zod/mini": {
    inputSchema: mini.object({ city: mini.string().check(mini.refine(exists, unknownCity)) }),
    jsonSchema: cityJson,
  },
  valibot: {
    inputSchema: v.objectAsync({ city: v.pipeAsync(v.string(), v.checkAsync(exists, unknownCity)) }),
    jsonSchema: cityJson,
  },
};
