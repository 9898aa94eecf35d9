// Reads and writes the page's links: #i3/tool/1 is call 1 of iteration 3, #r2/i3 is iteration 3 of run 2, and #compare/r1/r2 compares two
// runs.

import { useEffect, useState } from "preact/hooks";

export interface Navigation {
  readonly hash: string;
  /** Opens a link within this page. `replace` keeps the current link out of the browser's history. */
  open(link: string, replace?: boolean): void;
}

export function useHash(): Navigation {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const read = (): void => setHash(location.hash);
    addEventListener("hashchange", read);
    addEventListener("popstate", read);
    return () => {
      removeEventListener("hashchange", read);
      removeEventListener("popstate", read);
    };
  }, []);
  const open = (link: string, replace = false): void => {
    if (link === location.hash) return;
    if (replace) history.replaceState(undefined, "", link);
    else history.pushState(undefined, "", link);
    setHash(location.hash);
  };
  return { hash, open };
}

type Route =
  | { readonly kind: "start" }
  /** `run` counts from 1. `key` identifies an event in the run, and is empty for the run itself. */
  | { readonly kind: "run"; readonly run: number; readonly key: string }
  | { readonly kind: "compare"; readonly left: number; readonly right: number }
  | { readonly kind: "unknown"; readonly link: string };

/** Reads the hash of the page's URL. `runCount` is the number of runs on the page. */
export function parseRoute(hash: string, runCount: number): Route {
  const link = hash.replace(/^#/, "");
  if (link === "" && runCount !== 1) return { kind: "start" };
  const isRun = (run: number): boolean => run >= 1 && run <= runCount;
  const route = parseCompared(link) ?? parseRun(link, runCount);
  const numbers = route.kind === "run" ? [route.run] : route.kind === "compare" ? [route.left, route.right] : [];
  return numbers.length > 0 && numbers.every(isRun) ? route : { kind: "unknown", link };
}

function parseCompared(link: string): Route | undefined {
  const [, left, right] = /^compare\/r(\d+)\/r(\d+)$/.exec(link) ?? [];
  return left === undefined ? undefined : { kind: "compare", left: Number(left), right: Number(right) };
}

/** Parses a link. If the page has only one run, links do not contain its number. */
function parseRun(link: string, runCount: number): Route {
  const [, run, key = ""] = /^r(\d+)(?:\/(.*))?$/.exec(link) ?? [];
  if (run !== undefined) return { kind: "run", run: Number(run), key };
  return runCount === 1 ? { kind: "run", run: 1, key: link } : { kind: "unknown", link };
}

interface Target {
  readonly run: number;
  readonly key: string;
}

/** Returns an event's link. Omits the run's number if the page shows only one run. */
export function toLink({ run, key }: Target, runCount: number): string {
  const parts = [...(runCount === 1 ? [] : [`r${run}`]), ...(key === "" ? [] : [key])];
  return `#${parts.join("/")}`;
}
