// The route of the page, which follows its URL.

import { useEffect, useState } from "preact/hooks";

export interface Navigation {
  readonly hash: string;
  /** Opens a link of this page. With `replace`, the back button does not return to the link before. */
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
