/**
 * Names with a retired word that stay, each with its file: a word of a protocol, or a local name from before
 * the rule. Remove a line together with its name; add none.
 */
export const namesLeft: ReadonlySet<string> = new Set([
  // ASKING is a command of Redis Cluster; `asked_at` is a column.
  'storage/catalogue/operator/audit.ts asked_at',
  'storage/nodes/ioredis-clients.ts asking',
  'storage/nodes/ioredis-clients.ts patchAsking',
  // Local names from before the rule.
  'storage/import/import.ts settleDown',
]);
