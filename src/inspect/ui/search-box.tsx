import type { JSX, RefObject } from "preact";

interface SearchBoxProps {
  readonly input: RefObject<HTMLInputElement | null>;
  readonly query: string;
  readonly count: string;
  readonly hasHits: boolean;
  setQuery(query: string): void;
  /** Opens the next hit, or the one before. */
  go(step: 1 | -1): void;
}

export function SearchBox({ input, query, count, hasHits, setQuery, go }: SearchBoxProps): JSX.Element {
  return (
    <div class="search" role="search">
      <input
        ref={input}
        type="search"
        value={query}
        placeholder="Search"
        aria-label="Search all texts of the run"
        spellcheck={false}
        onInput={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") {
            setQuery("");
            event.currentTarget.blur();
          } else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <span class="count" role="status" aria-label="Hits">
        {count}
      </span>
      <button type="button" aria-label="Previous hit" title="Previous hit (N)" disabled={!hasHits} onClick={() => go(-1)}>
        ↑
      </button>
      <button type="button" aria-label="Next hit" title="Next hit (n)" disabled={!hasHits} onClick={() => go(1)}>
        ↓
      </button>
    </div>
  );
}
