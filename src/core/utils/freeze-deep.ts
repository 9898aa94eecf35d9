// Makes plain data unchangeable.

/**
 * Freezes plain data with all that is in it, and gives it back. What is frozen already is taken to be frozen all the way down, so hand
 * over copies of your own only.
 */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  if (Array.isArray(value)) for (const item of value) freezeDeep(item);
  else for (const key of Object.keys(value)) freezeDeep((value as { readonly [key: string]: unknown })[key]);
  return value;
}
