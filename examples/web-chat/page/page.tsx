// Starts the page. The URL contains the chat id, so two tabs with the same URL show the same chat.

import { createRoot } from "react-dom/client";
import { Chat } from "./chat.tsx";

const id = new URLSearchParams(location.search).get("chat");
const root = document.querySelector("#root");
if (id === null) location.replace(`?chat=${crypto.randomUUID()}`);
else if (root !== null) createRoot(root).render(<Chat id={id} />);
