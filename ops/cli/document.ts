/**
 * `npm run document`: writes docs/openapi.json, the document that a running server gives at `/openapi.json`.
 *
 * For readers and generators of clients who have no server at hand. A test holds the two equal.
 */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../../http/openapi.ts';
import { rows } from '../../http/table.ts';

const file = new URL('../../docs/openapi.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(openApiDocument(rows), null, 1)}\n`);
process.stdout.write(`docs/openapi.json: ${rows.length} operations\n`);
