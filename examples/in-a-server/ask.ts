// The part of a page that reads frames of its own server.

// #region ask
/** Asks a question, and shows each piece of the answer as it arrives. */
export async function ask(url: string, question: string, show: (text: string) => void): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ question }) });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    const frames = `${rest}${next.value}`.split("\n\n");
    rest = frames.pop() ?? ""; // the start of the next frame
    for (const frame of frames) {
      const event = JSON.parse(frame.replace("data: ", "")) as { readonly type: string; readonly text?: string };
      if (event.type === "text-delta") show(event.text ?? "");
    }
  }
}
// #endregion ask
