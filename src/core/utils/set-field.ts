// Sets a field of foreign data.

/** Sets a field by a name that somebody else chose. Assigning "__proto__" would replace the prototype, and the field would be lost. */
export function setField<Value>(fields: { [field: string]: Value }, name: string, value: Value): void {
  if (name !== "__proto__") fields[name] = value;
  else Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true });
}
