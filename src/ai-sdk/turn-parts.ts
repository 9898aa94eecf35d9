// The parts of a turn while they stream, as they will be sent back.

import { copyFields, isRecord } from "../core/provider-kit.ts";
import type { TurnPart } from "./model-wire.ts";

/** What every service takes as the name of a tool. */
const promptName = /^[\w-]{1,64}$/;

/** Whether a name may be sent back as it is. */
export function isPromptName(name: string): boolean {
  return promptName.test(name);
}

/** The parts of one turn, in the order in which they began. */
export interface TurnParts {
  /** Begins a text; one that begins under a known id is another one. */
  start(type: "text" | "reasoning", id: unknown, metadata: unknown): void;
  /** Text that belongs to nothing begins a part of its own, so that none is lost. */
  extend(type: "text" | "reasoning", id: unknown, more: { readonly text: string; readonly metadata: unknown }): void;
  end(type: "text" | "reasoning", id: unknown, metadata: unknown): void;
  /** A part that comes whole. */
  add(part: TurnPart, metadata: unknown): void;
  all(): readonly TurnPart[];
}

interface PartDraft {
  readonly part: TurnPart;
  /** Undefined for parts that come whole. */
  text: string | undefined;
  /** The latest that was said of it; it is copied once, at the end. */
  metadata: unknown;
}

/** Makes an empty turn. */
export function createTurnParts(): TurnParts {
  const drafts: PartDraft[] = [];
  const open = { text: new Map<unknown, PartDraft>(), reasoning: new Map<unknown, PartDraft>() };

  function start(type: "text" | "reasoning", id: unknown, metadata: unknown): PartDraft {
    const draft: PartDraft = { part: { type }, text: "", metadata };
    drafts.push(draft);
    open[type].set(id, draft);
    return draft;
  }

  return {
    start,
    extend(type, id, { text, metadata }) {
      const draft = open[type].get(id) ?? start(type, id, undefined);
      draft.text += text;
      if (isRecord(metadata)) draft.metadata = metadata;
    },
    end(type, id, metadata) {
      const draft = open[type].get(id);
      if (draft !== undefined && isRecord(metadata)) draft.metadata = metadata;
    },
    add: (part, metadata) => drafts.push({ part, text: undefined, metadata }),
    all: () =>
      drafts.map(toPart).filter((part) => part.type !== "text" || part.text !== "" || part.providerOptions !== undefined),
  };
}

/** What a service says of a part as metadata is what it wants back as options. */
function toPart({ part, text, metadata }: PartDraft): TurnPart {
  return {
    ...part,
    ...(text === undefined ? {} : { text }),
    ...(isRecord(metadata) ? { providerOptions: copyFields(metadata) } : {}),
  };
}
