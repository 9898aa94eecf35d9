// Builds the page of turnwright/inspect before the tests, because renderRunPage loads it.

export async function setup(): Promise<void> {
  await import("../scripts/build-page.ts");
}
