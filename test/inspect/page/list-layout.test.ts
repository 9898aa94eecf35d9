import { describe, expect, it } from "vitest";
import { ListLayout } from "../../../src/inspect/ui/use-measured-list.ts";

const keysOf = (from: number, to: number): readonly string[] => Array.from({ length: to - from }, (_item, at) => `k${from + at}`);

function layOut(keys: readonly string[]): ListLayout {
  const layout = new ListLayout();
  layout.setItems(keys, () => 10);
  return layout;
}

describe("the layout of a long list on the inspect page", () => {
  it("finds the item at each position, with measured and estimated heights", () => {
    const layout = layOut(keysOf(0, 5));
    expect(layout.setHeights(1, [25, 10])).toBe(true);
    expect(layout.height).toBe(65);
    expect([-5, 0, 9.5, 10, 34, 35, 64, 999].map((at) => layout.indexAt(at))).toEqual([0, 0, 0, 1, 1, 2, 4, 4]);
    expect(layout.setHeights(1, [25, 10])).toBe(false);
    expect(layOut([]).indexAt(3)).toBe(0);
  });

  it("keeps the visible item in place if items above it change", () => {
    const layout = layOut(keysOf(10, 20));
    layout.holdAt(43);
    layout.setHeights(0, [100, 100]);
    expect(layout.heldTop).toBe(43 + 180);
    layout.setItems(keysOf(0, 30), () => 10);
    expect(layout.heldTop).toBe(43 + 180 + 100);
    layout.setItems(keysOf(13, 30), () => 10);
    expect(layout.heldTop).toBe(13);
  });

  it("keeps the previous item in place if the visible item is removed", () => {
    const layout = layOut(keysOf(0, 20));
    layout.holdAt(153);
    layout.setItems([...keysOf(0, 5), ...keysOf(18, 20)], () => 10);
    expect(layout.heldTop).toBe(40);
    layout.setItems(keysOf(50, 60), () => 10);
    expect(layout.heldTop).toBe(0);
  });

  it("scrolls an item to the top, even below items that were not measured yet", () => {
    const layout = layOut(keysOf(0, 100));
    layout.hold(50);
    expect(layout.heldTop).toBe(500);
    layout.setHeights(46, [30, 30, 30, 30, 70]);
    expect(layout.heldTop).toBe(layout.topOf(50));
    expect(layout.heldTop).toBe(580);
  });
});
