import { describe, expect, it } from "vitest";
import { EventQueue } from "./event-queue.ts";

const isOpen = async (room: Promise<void> | undefined): Promise<boolean> => {
  if (room === undefined) return true;
  let open = false;
  void room.then(() => (open = true));
  await new Promise((resolve) => setImmediate(resolve));
  return open;
};
const item = (value: number): object => ({ done: false, value });
const end = { done: true, value: undefined };

function filled(count: number, capacity = 4): EventQueue<number> {
  const queue = new EventQueue<number>(capacity);
  for (let value = 0; value < count; value += 1) queue.push(value);
  return queue;
}

describe("EventQueue", () => {
  it("returns items in order, whether pushed before or after next()", async () => {
    const queue = filled(2);
    const reads = [queue.next(), queue.next(), queue.next(), queue.next(), queue.next()];
    queue.push(2);
    queue.push(3);
    queue.end();
    expect(await Promise.all(reads)).toEqual([item(0), item(1), item(2), item(3), end]);
  });

  it("returns thousands of items in order", async () => {
    const queue = filled(10_000);
    for (let value = 0; value < 5_000; value += 1) expect(await queue.next()).toEqual(item(value));
    for (let value = 10_000; value < 12_000; value += 1) queue.push(value);
    queue.end();
    for (let value = 5_000; value < 12_000; value += 1) expect(await queue.next()).toEqual(item(value));
    expect([await queue.next(), await queue.next(), queue.length]).toEqual([end, end, 0]);
  });

  it("returns its items after end(), and ignores items that are pushed later", async () => {
    const queue = filled(1);
    queue.end();
    queue.push(7);
    expect([await queue.next(), await queue.next()]).toEqual([item(0), end]);
  });

  it("throws a failure once, after the items that precede it", async () => {
    const queue = filled(1);
    queue.fail(new Error("broken"));
    queue.end();
    expect(await queue.next()).toEqual(item(0));
    await expect(queue.next()).rejects.toThrow("broken");
    expect(await queue.next()).toEqual(end);
  });

  it("rejects only the first of several waiting reads after a failure", async () => {
    const queue = filled(0);
    const reads = Promise.allSettled([queue.next(), queue.next()]);
    queue.fail("broken");
    expect(await reads).toEqual([
      { status: "rejected", reason: "broken" },
      { status: "fulfilled", value: end },
    ]);
  });

  it("drops all items when its reader calls leave()", async () => {
    const queue = filled(3);
    await queue.next();
    queue.leave();
    queue.push(9);
    expect([queue.length, await queue.next()]).toEqual([0, end]);
  });
});

describe("EventQueue.room", () => {
  it("returns undefined before the first read, for a queue of any length", () => {
    expect(filled(1_000).room()).toBeUndefined();
  });

  it("for a full queue, returns a promise that resolves when the queue is half empty", async () => {
    const queue = filled(5);
    await queue.next();
    const room = queue.room();
    expect([queue.length, room === undefined, room === queue.room()]).toEqual([4, false, true]);
    await queue.next();
    await queue.next();
    expect([queue.length, await isOpen(room)]).toEqual([2, false]);
    await queue.next();
    expect([queue.length, await isOpen(room), queue.room()]).toEqual([1, true, undefined]);
  });

  it("returns undefined for a queue below its capacity", async () => {
    const queue = filled(4);
    await queue.next();
    expect([queue.length, queue.room()]).toEqual([3, undefined]);
  });

  it.for<[how: string, act: (queue: EventQueue<number>) => void]>([
    ["ends", (queue) => queue.end()],
    ["fails", (queue) => queue.fail("broken")],
    ["is abandoned by its reader", (queue) => queue.leave()],
  ])("resolves its promise and returns undefined when the queue %s", async ([, act]) => {
    const queue = filled(9);
    const reads = queue.next();
    const room = queue.room();
    expect(await isOpen(room)).toBe(false);
    act(queue);
    expect([await isOpen(room), queue.room()]).toEqual([true, undefined]);
    await reads;
  });

  it("returns a new promise each time the queue is full", async () => {
    const queue = filled(5);
    await queue.next();
    const first = queue.room();
    for (let read = 0; read < 4; read += 1) await queue.next();
    for (let value = 0; value < 6; value += 1) queue.push(value);
    const second = queue.room();
    expect([await isOpen(first), first === second, await isOpen(second)]).toEqual([true, false, false]);
    for (let read = 0; read < 6; read += 1) await queue.next();
    expect(await isOpen(second)).toBe(true);
  });
});
