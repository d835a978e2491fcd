/**
 * Opens the stores of a folder and prints why it cannot.
 */
import { openStores } from '../../../storage/open.ts';

const [dataDir = ''] = process.argv.slice(2);
const stores = { dataDir, redisUrl: [], databaseUrl: '' };
await openStores(stores, { clock: Date.now, onWarning: () => {} }).then(
  ({ close }) => close(),
  (error: Error) => console.log(error.message),
);
