/**
 * Finds what a UUID from a log, a page or a support request names: a listing, a vote, a webhook or a token.
 *
 * Read only; every look-up uses an index.
 */
import type { Queryable } from '../../sql/client.ts';

/**
 * Resolves to all matches, as the schema of the reply names their fields: the listing itself, or the entity
 * that the vote, webhook or token belongs to.
 */
export const findByUuid = (sql: Queryable, uuid: string): Promise<readonly object[]> => sql`
  select 'listing' as what, 'bot' as target_type, bot_id as target_id from bots where itag = ${uuid}
  union all select 'listing', 'server', server_id from servers where itag = ${uuid}
  union all select 'listing', 'team', id from teams where itag = ${uuid}
  union all select 'vote', target_type, target_id from votes where itag = ${uuid}
  union all select 'webhook', kind, entity_id
    from webhook_endpoints join totals using (incarnation) where id = ${uuid}
  union all select 'token', target_type, target_id from sessions where id = ${uuid}`;
