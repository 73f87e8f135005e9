//! Precision against recall, drawn.

use plotters::prelude::*;

use super::score::Curve;
use crate::support::failure::Failure;

/// Width and height of the drawing, in pixels.
const SIZE: (u32, u32) = (960, 640);

/// An SVG with a line for each method, a point on it for each limit.
pub(super) fn svg(curves: &[(String, Curve)]) -> Result<String, Failure> {
    let mut svg = String::new();
    draw(&mut svg, curves).map_err(|error| Failure::new(format!("cannot draw: {error}")))?;
    Ok(svg)
}

fn draw(svg: &mut String, curves: &[(String, Curve)]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..1.02, 0.0..1.02)?;
    chart
        .configure_mesh()
        .x_desc("recall")
        .y_desc("precision")
        .label_style(("sans-serif", 14))
        .draw()?;
    for (number, (name, curve)) in curves.iter().enumerate() {
        let color = Palette99::pick(number).to_rgba();
        let points = || curve.points.iter().map(|p| (p.recall, p.precision));
        chart
            .draw_series(LineSeries::new(points(), color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        chart.draw_series(points().map(|point| Circle::new(point, 3, color.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .label_font(("sans-serif", 13))
        .draw()?;
    area.present()?;
    Ok(())
}
