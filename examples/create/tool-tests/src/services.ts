// Services that need no network. Replace them by real ones.

import type { Services } from "./tools.ts";

export const offlineServices: Services = {
  fetch: async () => Response.json({ table: 7 }),
  book: async ({ table }) => ({ id: `booking of table ${table}` }),
};
