/**
 * The operators' record: who-asked-for-what, written before each operation and completed after it.
 *
 * An entry that stays `asked` is one whose process or SQL went away before the end could be told: whether it
 * took effect is to be looked up. Entries are never changed or deleted here. Called by the operator's rows.
 */
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';

export interface AuditRequest {
  /** As an operator types it: `bots approve`. */
  readonly operation: string;
  /** What it is about, for eyes: `bot 123`. */
  readonly target: string;
  readonly details: Readonly<Record<string, unknown>>;
}
export interface AuditEntry extends AuditRequest {
  readonly id: number;
  readonly asked_at: Date;
  /** `asked`, `done`, or the error code it was refused with. */
  readonly outcome: string;
  readonly ended_at: Date | null;
}

export interface Audit {
  /** Ledger when it resolves. */
  begin(asked: AuditRequest): Promise<number>;
  end(id: number, outcome: string): Promise<void>;
  /** Newest first. */
  page(page: number): Promise<readonly AuditEntry[]>;
}

const auditPerPage = 50;

export const createAudit = (sql: Sql): Audit => ({
  begin: ({ operation, target, details }) =>
    asStorage('audit.begin', async () => {
      const [row] = await sql<{ id: number }[]>`
        insert into audit (operation, target, details)
        values (${operation}, ${target}, ${sql.json(details as Parameters<Sql['json']>[0])}) returning id`;
      return (row as { id: number }).id;
    }),
  end: (id, outcome) =>
    asStorage('audit.end', async () => {
      await sql`update audit set outcome = ${outcome}, ended_at = now() where id = ${id}`;
    }),
  page: (page) =>
    asStorage(
      'audit.page',
      () => sql<AuditEntry[]>`
        select id, asked_at, operation, target, details, outcome, ended_at from audit
        order by id desc limit ${auditPerPage} offset ${(page - 1) * auditPerPage}`,
    ),
});
