// The positions of the items of a long list. Only items that were shown are measured, and the others have estimated heights.

interface HeldItem {
  readonly index: number;
  /** The distance from the top of the item to the top of the visible part. */
  readonly below: number;
}

/** Lays a list out. One item is held in place while the heights of others become known, and while items are added and removed. */
export class ListLayout {
  readonly #heights = new Map<string, number>();
  #keys: readonly string[] = [];
  #estimate: (index: number) => number = () => 0;
  /** The top of each item. The last number is the height of the whole list. */
  #tops: readonly number[] = [0];
  #held: HeldItem = { index: 0, below: 0 };

  /** Sets the items. If the held item is gone, holds the item before it. */
  setItems(keys: readonly string[], estimate: (index: number) => number): void {
    if (keys === this.#keys) return;
    const places = new Map(keys.map((key, index) => [key, index]));
    const { index, below } = this.#held;
    const last = this.#keys.slice(0, index + 1).findLastIndex((key) => places.has(key));
    this.#held = { index: places.get(this.#keys[last] ?? "") ?? 0, below: last === index ? below : 0 };
    [this.#keys, this.#estimate] = [keys, estimate];
    this.#place();
  }

  #place(): void {
    let top = 0;
    const tops = this.#keys.map((key, index) => {
      const start = top;
      top += this.#heights.get(key) ?? this.#estimate(index);
      return start;
    });
    this.#tops = [...tops, top];
  }

  /** Sets the heights of items from an index on. Returns true if a height has changed. */
  setHeights(from: number, heights: readonly number[]): boolean {
    let isNew = false;
    heights.forEach((height, at) => {
      const key = this.#keys[from + at];
      if (key === undefined || this.#heights.get(key) === height) return;
      this.#heights.set(key, height);
      isNew = true;
    });
    if (isNew) this.#place();
    return isNew;
  }

  get height(): number {
    return this.topOf(this.#keys.length);
  }

  topOf(index: number): number {
    return this.#tops[index] ?? 0;
  }

  /** Returns the item at a position. */
  indexAt(position: number): number {
    let [low, high] = [0, Math.max(0, this.#keys.length - 1)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.topOf(middle) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Holds the item at the top of the visible part. */
  holdAt(position: number): void {
    const index = this.indexAt(position);
    this.#held = { index, below: position - this.topOf(index) };
  }

  /** Holds the top of an item at the top of the visible part. */
  hold(index: number): void {
    this.#held = { index, below: 0 };
  }

  /** The position at which the visible part begins, so that the held item stays in place. */
  get heldTop(): number {
    return this.topOf(this.#held.index) + this.#held.below;
  }
}
