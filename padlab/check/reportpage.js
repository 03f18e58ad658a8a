// SPDX-License-Identifier: GPL-2.0-only
// Run in the page by reportpage.py: calls back with what is wrong with it, a line each.
const done = arguments[arguments.length - 1];

function shown(element) {
	const text = element.textContent.trim().slice(0, 40);
	return `${element.tagName.toLowerCase()} "${text}"`;
}

// By more than the blank around letters.
function overlap(a, b) {
	return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
	       Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
}

function luminance(color) {
	const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map(part => {
		const c = part / 255;
		return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
	const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
	return (light + 0.05) / (dark + 0.05);
}

function problems() {
	const found = [];
	const wide = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > wide)
		found.push(`the page is ${document.documentElement.scrollWidth} wide, of ${wide}`);

	for (const one of performance.getEntriesByType("resource"))
		found.push(`it loads ${one.name}`);

	const page = getComputedStyle(document.body).backgroundColor;
	for (const figure of document.querySelectorAll("figure")) {
		if (!figure.querySelector("figcaption li, .missing li"))
			found.push(`${figure.id} does not name its command`);
		for (const line of figure.querySelectorAll("figcaption li"))
			if (!line.textContent.includes("./lab "))
				found.push(`${figure.id} does not name its command: ${shown(line)}`);
	}

	if (!document.querySelector(".chart"))
		found.push("no figure has a chart");
	for (const chart of document.querySelectorAll(".chart")) {
		const svg = chart.querySelector("svg");
		if (!svg) {
			found.push(`${chart.id} is not drawn`);
			continue;
		}
		const frame = chart.getBoundingClientRect();
		const labels = [...svg.querySelectorAll("text")].filter(one =>
			one.textContent.trim() && getComputedStyle(one).opacity !== "0" &&
			one.getBoundingClientRect().width);
		const boxes = labels.map(one => one.getBoundingClientRect());
		labels.forEach((label, i) => {
			const box = boxes[i];
			if (box.left < frame.left - 1 || box.right > frame.right + 1)
				found.push(`${chart.id}: ${shown(label)} leaves the chart`);
			if (contrast(getComputedStyle(label).fill, page) < 4.5)
				found.push(`${chart.id}: ${shown(label)} is hard to read`);
			for (let j = i + 1; j < boxes.length; j++)
				if (overlap(box, boxes[j]))
					found.push(`${chart.id}: ${shown(label)} lies on ${shown(labels[j])}`);
		});
	}
	return found;
}

function look() {
	const { drawn, failed } = document.body.dataset;
	if (failed)
		done([`a chart fails: ${failed}`]);
	else if (drawn)
		setTimeout(() => done(problems()), 500);
	else
		setTimeout(look, 50);
}

look();
