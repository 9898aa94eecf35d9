import type { EventReader } from "./read-sdk-stream.ts";

/** Returns a reader that uses the current result of `getReader`. Calls `onRead` after each event, and at the end. */
export function wrapReader(getReader: () => EventReader, onRead: () => void = () => {}): EventReader {
  return {
    get failed() {
      return getReader().failed;
    },
    get finished() {
      return getReader().finished;
    },
    get isOver() {
      return getReader().isOver === true;
    },
    get mayGoOn() {
      return getReader().mayGoOn === true;
    },
    read: (event) => {
      getReader().read(event);
      onRead();
    },
    end: () => {
      getReader().end();
      onRead();
    },
  };
}
