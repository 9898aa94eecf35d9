// Mounts the page. The id of the chat is in the URL, so a second tab with the same URL shows the same chat.

import { createRoot } from "react-dom/client";
import { Chat } from "./chat.tsx";

const id = new URLSearchParams(location.search).get("chat");
const root = document.querySelector("#root");
if (id === null) location.replace(`?chat=${crypto.randomUUID()}`);
else if (root !== null) createRoot(root).render(<Chat id={id} />);
