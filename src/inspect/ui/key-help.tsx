import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

export type KeyAction =
  | "search"
  | "next"
  | "previous"
  | "first"
  | "last"
  | "open"
  | "unfold"
  | "fold"
  | "next-hit"
  | "previous-hit"
  | "help"
  | "close";

const actions: { readonly [key: string]: KeyAction | undefined } = {
  "/": "search",
  j: "next",
  ArrowDown: "next",
  k: "previous",
  ArrowUp: "previous",
  Home: "first",
  End: "last",
  Enter: "open",
  ArrowRight: "unfold",
  l: "unfold",
  ArrowLeft: "fold",
  h: "fold",
  n: "next-hit",
  N: "previous-hit",
  "?": "help",
  Escape: "close",
};

/** Calls `act` when one of the page's shortcut keys is pressed, unless the reader is typing or another element uses the key. */
export function useKeys(act: (action: KeyAction) => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
      if (action === undefined || event.ctrlKey || event.metaKey || event.altKey || usesKey(event)) return;
      event.preventDefault();
      latest.current(action);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function usesKey({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  if (target.matches("input, textarea, select")) return true;
  if (target.closest("dialog") !== null) return key !== "?";
  // Leaves arrow keys to a focused transcript or header, because they scroll it.
  if (target.closest(".transcript, .run-header") !== null && /^(Arrow|Home|End)/.test(key)) return true;
  return key === "Enter" && target.matches("button, a");
}

const help: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [["/"], "Search"],
  [["n", "N"], "Next hit, previous hit"],
  [["j", "k"], "Next row, previous row; also the arrow keys"],
  [["Home", "End"], "First row, last row"],
  [["l", "h"], "Unfold, fold; also the arrow keys right and left"],
  [["Enter"], "Open the request of an iteration, or the nested runs of a call"],
  [["Esc"], "Close, or end the search"],
  [["?"], "Show these keys"],
];

export function KeyHelp({ close }: { close(): void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={close}>
      <h2>Keys</h2>
      <dl>
        {help.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
