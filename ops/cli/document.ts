/**
 * `npm run document`: writes docs/openapi.json, the same document that a running server serves at
 * `/openapi.json`.
 *
 * The file is for readers and client generators without a running server. A test compares the two.
 */
import { writeFileSync } from 'node:fs';
import { buildOpenApiDocument } from '../../http/openapi/document.ts';
import { routes } from '../../http/routes/table.ts';

const file = new URL('../../docs/openapi.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(buildOpenApiDocument(routes), null, 1)}\n`);
process.stdout.write(`docs/openapi.json: ${routes.length} operations\n`);
