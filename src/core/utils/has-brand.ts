// Tells what the package has made, by a symbol that all its copies share.

/** True for an object with the brand. False for a proxy that cannot be asked, too. */
export function hasBrand(value: unknown, brand: symbol): value is object {
  try {
    return typeof value === "object" && value !== null && brand in value;
  } catch {
    return false;
  }
}
