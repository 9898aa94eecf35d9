// The ids of calls: the provider's own where it can be used, else one made from the call's position.

/** Names a call by its position in the stream, and by the id that the provider gave, where it gave one. */
export type IdOf = (index: number, id: string | undefined) => string;

/** Where the calls stand, and which ids they may not have. */
export interface CallPlace {
  readonly iteration: number;
  /** How many calls of the turn came before. */
  readonly firstIndex: number;
  isTaken(callId: string): boolean;
}

/** Gives each call an id of its own; the same ones whenever it is asked for the same calls in the same order. */
export function createCallIds({ iteration, firstIndex, isTaken }: CallPlace): IdOf {
  let given: Set<string> | undefined;
  return (index, id) => {
    // With a slash in it, it could pass for the path to a call inside another one.
    let callId = id === undefined || id.includes("/") ? "" : id;
    for (let copy = 0; callId === "" || isTaken(callId) || given?.has(callId) === true; copy += 1) {
      callId = `call_p${iteration}_${firstIndex + index}${copy === 0 ? "" : `_${copy}`}`;
    }
    given ??= new Set();
    given.add(callId);
    return callId;
  };
}
