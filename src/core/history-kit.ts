// Internal exports of the core for the functions that convert histories. Separate from the other exports, so that no other bundle
// includes them.

export { checkMessages } from "./loop/state/check-messages.ts";
export { findLostMessages, keepFitting, type LostContent, type Piece } from "./providers/find-lost.ts";
export {
  addMetadata,
  copyHistory,
  FieldReader,
  HistoryDraft,
  type HistoryProvider,
  historyProviderCheck,
  type PieceWriter,
  type ReadHistory,
  toMediaPart,
  toReadResult,
} from "./providers/read-history.ts";
