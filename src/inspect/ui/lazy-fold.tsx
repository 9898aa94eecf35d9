import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

interface LazyFoldProps {
  readonly title: ComponentChildren;
  /** Returns the content, which is made when the fold is opened for the first time. */
  readonly children: () => ComponentChildren;
  readonly isOpen?: boolean;
}

/** A title that shows its content when it is opened. */
export function LazyFold({ title, children, isOpen = false }: LazyFoldProps): JSX.Element {
  const [wasOpened, setOpened] = useState(isOpen);
  return (
    <details class="lazy-fold" open={isOpen} onToggle={({ currentTarget }) => currentTarget.open && setOpened(true)}>
      <summary>{title}</summary>
      {wasOpened && <div class="lazy-content">{children()}</div>}
    </details>
  );
}
