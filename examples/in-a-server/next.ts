import { handler } from "./handler.ts";

// #region next
// app/api/chat/route.ts
export { handler as POST };
// #endregion next
