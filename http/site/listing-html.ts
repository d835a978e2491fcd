/**
 * The page of one bot, server, team or pack: what people edit is text of the template, what machines count is
 * a slot. Pure.
 */
import type { Card } from './cards/draw.ts';
import { type ListedEntity, type ListedGroup, renderGroup, renderPicture, renderTags } from './entities.ts';
import { renderPage } from './layout.ts';
import { type Html, type HtmlValue, kindTitles, render, renderSlot, type Site } from './site.ts';

/** A name with its value, or with a slot. */
export type Fact = readonly [label: string, value: HtmlValue];

/** What the page of a listing shows beside its numbers. */
export interface Listing extends Omit<ListedEntity, 'votes' | 'size' | 'sizeLabel'> {
  /** Rendered Markdown; `null` for none. */
  readonly about: Html | null;
  /** Whether a part of `about` is shown as plain text, because it needs too much work. */
  readonly isAboutCut: boolean;
  readonly links: readonly { readonly name: string; readonly value: string }[];
  /** Labels beside its kind: `Certified`, `Premium`. */
  readonly marks: readonly string[];
  /** Why it is not in lists; `''` when it is. */
  readonly hidden: string;
  readonly voteBanned: boolean;
  /** The label of the link to its invite; `''` without an invite that can be followed. */
  readonly invites: string;
  readonly facts: readonly Fact[];
  /** The metrics of its chart, with their titles. */
  readonly metrics: readonly (readonly [metric: string, title: string])[];
  readonly lists: readonly ListedGroup[];
}

const renderHero = (site: Site, listing: Listing): Html => render`<header class="hero">
${renderPicture(site, listing.name, listing.avatar)}
<div>
<p class="kicker">${kindTitles[listing.kind]}${
  listing.kind === 'bot'
    ? render` · <span class="status" data-status="${renderSlot('status')}">${renderSlot('status')}</span>`
    : null
}${listing.marks.map((mark) => render` <span class="mark">${mark}</span>`)}${
  listing.nsfw ? render` <span class="mark adult">18+</span>` : null
}</p>
<h1 dir="auto">${listing.name}</h1>
<p class="short" dir="auto">${listing.short}</p>
${listing.tags.length === 0 ? null : renderTags(listing.tags)}
</div>
</header>`;

const renderVoteButton = ({ hidden, voteBanned }: Listing): Html => {
  if (hidden !== '') return render`<p class="note">${hidden}</p>`;
  if (voteBanned) return render`<p class="note">It cannot receive votes at the moment.</p>`;
  return render`<button class="main" id="vote" hidden>Vote</button>
<p class="note" id="vote-note" role="status"></p>
<p class="note" id="voter-note" hidden></p>
<noscript><p class="note">Voting needs JavaScript.</p></noscript>`;
};

const renderVotes = (listing: Listing) => render`<section class="card votes" aria-labelledby="votes-title">
<h2 id="votes-title" class="hidden">Votes</h2>
<p class="count"><b data-live="votes">${renderSlot('votes')}</b> <span>votes this month</span></p>
<p class="rank">${renderSlot('rank')}</p>
${renderVoteButton(listing)}
${
  listing.invites === ''
    ? null
    : render`<a class="button" href="${listing.path}/invite"
 rel="nofollow">${listing.invites}</a>`
}
</section>`;

const renderFacts = ({ facts }: Listing): Html => render`<section class="card" aria-label="Facts">
<dl class="facts">${facts.map(
  ([label, value]) => render`<div><dt>${label}</dt><dd>${value}</dd></div>
`,
)}</dl>
</section>`;

/** A script fills it, unless the votes of the directory are for owners only. */
const topVoters = render`<section class="card" id="top-voters" aria-labelledby="top-title" hidden>
<h2 id="top-title">Top voters this month</h2><ol class="links"></ol></section>
`;

const renderChart = ({ kind, id, metrics }: Listing): Html => {
  const table = `/${kind}s/${encodeURIComponent(id)}/history?format=csv`;
  return render`<section class="card" aria-labelledby="chart-title">
<div class="chart-head"><h2 id="chart-title">History</h2><div class="choices" id="chart-choices"></div></div>
<div id="chart" data-metrics="${JSON.stringify(metrics)}"><noscript>The chart needs JavaScript.
<a href="${table}" rel="nofollow">Its numbers as a table</a></noscript></div>
</section>`;
};

/** A script of the page shows it to those who may edit the listing. */
const cutNote = render`<p class="note" id="long-cut" hidden>Only you see this: a part of this text is shown as
plain text, because its Markdown is too large. Use fewer links, tables or lists.</p>
`;

const renderAbout = ({ about, isAboutCut }: Listing): HtmlValue =>
  about === null
    ? null
    : render`<section class="card" aria-labelledby="about-title"><h2 id="about-title">About</h2>
${isAboutCut ? cutNote : null}<div class="prose">${about}</div></section>
`;

const renderLinks = ({ links }: Listing): HtmlValue => {
  const shown = links.filter(({ value }) => /^https?:\/\//.test(value));
  if (shown.length === 0) return null;
  return render`<section class="card" aria-labelledby="links-title"><h2 id="links-title">Links</h2>
<ul class="links">${shown.map(
    ({ name, value }) =>
      render`<li><a href="${value}" rel="nofollow ugc noopener" dir="auto">${name}</a></li>`,
  )}</ul></section>
`;
};

const renderBadge = (site: Site, { kind, id, name, path, hidden }: Listing): HtmlValue => {
  if (hidden !== '') return null;
  const picture = `/badges/${kind}s/${encodeURIComponent(id)}/votes.svg`;
  const url = site.readUrl();
  const label = `Votes of ${name.replace(/[[\]()\\]/g, '')}`;
  const markdown = `[![${label}](${url}${picture})](${url}${path})`;
  return render`<section class="card" aria-labelledby="badge-title"><h2 id="badge-title">Badge</h2>
<p><img src="${picture}" alt="${label}" height="20" loading="lazy"></p>
<pre class="code" tabindex="0" role="region" aria-label="Markdown of the badge"><code>${markdown}</code></pre>
</section>
`;
};

/** The card of a listing; its picture is drawn from this. */
export const toCard = ({ kind, name, short }: Pick<Listing, 'kind' | 'name' | 'short'>): Card => ({
  kind: kindTitles[kind],
  name,
  short,
});

const findCardPath = ({ cards }: Site, listing: Listing): string | null => {
  if (cards === null || listing.hidden !== '') return null;
  const { kind, id } = listing;
  return `/cards/${kind}s/${encodeURIComponent(id)}/card.png?v=${cards.findEdition(toCard(listing))}`;
};

/** Renders the page, with slots for its numbers. */
export const renderListing = (site: Site, listing: Listing): Html => {
  const card = findCardPath(site, listing);
  return renderPage(site, {
    title: listing.name,
    description: listing.short,
    ...(listing.hidden === '' && { path: listing.path }),
    ...(/^https:/.test(listing.avatar) && { picture: listing.avatar }),
    ...(card !== null && { card }),
    scripts: ['listing.ts'],
    wide: true,
    body: render`<article class="listing" data-kind="${listing.kind}s" data-id="${listing.id}">
${renderHero(site, listing)}
<div class="side">
${renderVotes(listing)}
${renderFacts(listing)}
</div>
<div class="content">
${listing.lists.map((group) => renderGroup(site, group))}${renderChart(listing)}
${renderAbout(listing)}${topVoters}${renderLinks(listing)}${renderBadge(site, listing)}</div>
</article>`,
  });
};
