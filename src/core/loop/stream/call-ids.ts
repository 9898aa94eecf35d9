// The ids of calls: the provider's own where it can be used, else one made from the call's position.

/** Names a call by its place in the iteration, and by the id that the provider gave, where it gave one. */
export type IdOf = (index: number, id: string | undefined) => string;

/** Where the calls stand, and which ids they may not have. */
export interface CallPlace {
  readonly iteration: number;
  /** Ids in the transcript. */
  readonly heldIds: ReadonlySet<string>;
  /** The places of calls that have an id, by id. Each new one is added. */
  readonly places: Map<string, number>;
}

/** Gives each call an id of its own. */
export function createCallIds({ iteration, heldIds, places }: CallPlace): IdOf {
  return (index, id) => {
    // With a slash in it, it could iteration for the path to a call inside another one; with "#2" at its end, for a later question.
    let callId = id === undefined || /\/|#\d+$/.test(id) ? "" : id;
    for (let copy = 0; callId === "" || heldIds.has(callId) || places.has(callId); copy += 1) {
      callId = `call_i${iteration}_${index}${copy === 0 ? "" : `_${copy}`}`;
    }
    places.set(callId, index);
    return callId;
  };
}
