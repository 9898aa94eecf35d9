// Whether a decimal number is a multiple of another one, exactly: 0.3 is one of 0.1, though not in floating point.

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** False for divisors that are not positive, and for numbers that are not finite. */
export function isMultipleOf(number: number, divisor: number): boolean {
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
