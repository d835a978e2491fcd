/**
 * `npm run document`: writes docs/openapi.json, the document that a running server gives at `/openapi.json`.
 *
 * For readers and generators of clients who have no server at hand. A test holds the two equal.
 */
import { writeFileSync } from 'node:fs';
import { buildOpenApiDocument } from '../../http/openapi/document.ts';
import { routes } from '../../http/routes/table.ts';

const file = new URL('../../docs/openapi.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(buildOpenApiDocument(routes), null, 1)}\n`);
process.stdout.write(`docs/openapi.json: ${routes.length} operations\n`);
