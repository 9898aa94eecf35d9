import { format as formats } from "@cfworker/json-schema";
import { type Check, fail, type Keyword, toLimit, type Visit } from "./visit.ts";

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function isMultipleOf(number: number, divisor: number): boolean {
  if (!Number.isFinite(number) || !Number.isFinite(divisor) || divisor <= 0) return false;
  const one = toDecimal(number);
  const other = toDecimal(divisor);
  const shift = one.exponent - other.exponent;
  if (shift >= 0) return (one.digits * 10n ** BigInt(shift)) % other.digits === 0n;
  return one.digits % (other.digits * 10n ** BigInt(-shift)) === 0n;
}

function toDecimal(number: number): Decimal {
  const [digits = "0", exponent = "0"] = Math.abs(number).toString().split("e");
  const point = digits.indexOf(".");
  const decimals = point === -1 ? 0 : digits.length - point - 1;
  return { digits: BigInt(digits.replace(".", "")), exponent: Number(exponent) - decimals };
}

/** The number of characters counted in one unit of work. */
const countedPerUnit = 1_024;
/** Units of work per character for checking any format except "regex". */
const unitsOfFormat = 1 / 8;
/** Units of work per character for checking the "regex" format, which compiles the text. */
const unitsOfCompiling = 20;
/** Units of work for running one pattern instruction on one character. */
const unitsOfInstruction = 1 / 20;

export const textKeywords: readonly Keyword[] = [
  { name: "maxLength", on: "string", make: checkMaxLength },
  { name: "minLength", on: "string", make: checkMinLength },
  { name: "pattern", on: "string", make: checkPattern },
  { name: "format", on: "string", make: checkFormat },
];

function checkMaxLength(argument: unknown): Check {
  const limit = toLimit(argument);
  return (visit) => {
    // Does not count the characters of a short string, because a string never has more characters than UTF-16 code units.
    if (String(visit.value).length <= limit) return;
    const count = countCharacters(visit);
    if (count > limit) fail(visit, `The string has ${count} characters, but at most ${limit} are allowed`);
  };
}

function checkMinLength(argument: unknown): Check {
  const limit = toLimit(argument);
  return (visit) => {
    if (String(visit.value).length / 2 >= limit) return;
    const count = countCharacters(visit);
    if (count < limit) fail(visit, `The string has ${count} characters, but at least ${limit} are required`);
  };
}

function countCharacters({ value, ports }: Visit): number {
  const text = String(value);
  ports.spend(text.length / countedPerUnit);
  let count = text.length;
  for (let index = 1; index < text.length; index++)
    if (isLow(text.charCodeAt(index)) && isHigh(text.charCodeAt(index - 1))) count--;
  return count;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function checkPattern(expression: unknown): Check {
  return (visit) => {
    const text = String(visit.value);
    if (!matches(visit, String(expression), text)) fail(visit, "The string does not match the pattern in the schema");
  };
}

/** True if the text matches the pattern, or if the pattern is not checked because it cannot run in linear time. */
export function matches({ ports }: Visit, expression: string, text: string): boolean {
  const pattern = ports.patternOf(expression);
  if (pattern === undefined) return true;
  ports.spend(text.length * pattern.size * unitsOfInstruction);
  return pattern.test(text);
}

function checkFormat(argument: unknown): Check {
  // Checks "url" as "uri", because JSON Schema does not define "url", and the library's own check for it is slow for long text.
  const name = argument === "url" ? "uri" : String(argument);
  const check = Object.hasOwn(formats, name) ? formats[name] : undefined;
  return (visit) => {
    if (check === undefined) return;
    const text = String(visit.value);
    visit.ports.spend(text.length * (name === "regex" ? unitsOfCompiling : unitsOfFormat));
    if (!check(text)) fail(visit, `The string does not have the format "${name}"`);
  };
}

type Judge = (number: number, isDraft4: boolean) => string | undefined;

/**
 * The keywords for numbers. In draft 4, "exclusiveMinimum" and "exclusiveMaximum" are booleans that exclude the limit itself. In later
 * drafts, they are numbers.
 */
export const numberKeywords: readonly Keyword[] = [
  {
    name: "minimum",
    on: "number",
    make: (argument, { exclusiveMinimum }) =>
      judge(argument, (limit) => (number, isDraft4) => {
        if (number < limit) return `less than ${limit}`;
        const isExclusive = isDraft4 && Object.is(exclusiveMinimum, true);
        return isExclusive && number === limit ? `less than or equal to ${limit}` : undefined;
      }),
  },
  {
    name: "maximum",
    on: "number",
    make: (argument, { exclusiveMaximum }) =>
      judge(argument, (limit) => (number, isDraft4) => {
        if (number > limit) return `greater than ${limit}`;
        const isExclusive = isDraft4 && Object.is(exclusiveMaximum, true);
        return isExclusive && number === limit ? `greater than or equal to ${limit}` : undefined;
      }),
  },
  {
    name: "exclusiveMinimum",
    on: "number",
    make: (argument) =>
      judge(
        argument,
        (limit) => (number, isDraft4) => (!isDraft4 && number <= limit ? `less than or equal to ${limit}` : undefined),
      ),
  },
  {
    name: "exclusiveMaximum",
    on: "number",
    make: (argument) =>
      judge(
        argument,
        (limit) => (number, isDraft4) => (!isDraft4 && number >= limit ? `greater than or equal to ${limit}` : undefined),
      ),
  },
  {
    name: "multipleOf",
    on: "number",
    make: (argument) =>
      judge(argument, (divisor) => (number) => (isMultipleOf(number, divisor) ? undefined : `not a multiple of ${divisor}`)),
  },
];

function judge(argument: unknown, make: (limit: number) => Judge): Check {
  const judgeNumber = make(toLimit(argument));
  return (visit) => {
    const number = Number(visit.value);
    const found = judgeNumber(number, visit.ports.isDraft4);
    if (found !== undefined) fail(visit, `The number ${number} is not allowed because it is ${found}`);
  };
}
