// server/api/chat.post.ts
import { answer } from "../utils/chat";

export default defineEventHandler((event) => {
  const page = new AbortController(); // Nuxt itself does not end a response whose page has left
  event.node.res.once("close", () => page.abort());
  return answer(new Request(toWebRequest(event), { signal: page.signal }));
});
