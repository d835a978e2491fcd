/**
 * Buttons that copy code, beside each block of code on a page. Loaded by the pages that have code.
 */

/** Copies the text; where the browser forbids that, the button says so. */
export const makeCopyButton = (text: string, label: string): HTMLButtonElement => {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.ariaLabel = `Copy: ${label}`;
  button.addEventListener('click', async () => {
    const copying = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    button.textContent = await copying.then(
      () => 'Copied',
      () => 'Copy it by hand',
    );
  });
  return button;
};

/** Gives each block of code on the page a button. */
for (const block of document.querySelectorAll<HTMLElement>('pre:has(> code)')) {
  const box = document.createElement('div');
  box.className = 'code-box';
  // Makes it scrollable by keys, too.
  block.tabIndex = 0;
  block.replaceWith(box);
  const text = block.textContent ?? '';
  box.append(makeCopyButton(text, text.trim().split('\n', 1)[0] ?? 'code'), block);
}
