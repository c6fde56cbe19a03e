// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model.hpp"

#include <Eigen/Core>
#include <cmath>
#include <map>

namespace training {
namespace {

using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using vector = Eigen::VectorXd;

// Uniform in [-1, 1), the same on every machine.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : x_(seed) {}
  double operator()() {
    std::uint64_t z = x_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-52 - 1.0;
  }
  matrix fill(int rows, int columns, double scale) {
    matrix m(rows, columns);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) m(i, j) = scale * (*this)();
    return m;
  }

 private:
  std::uint64_t x_;
};

// x / its standard deviation, row by row, times a gain.
struct norm {
  matrix hat, out;
  vector scale;
  void forward(const matrix& x, const matrix& gain) {
    hat = x.colwise() - x.rowwise().mean();
    scale = (hat.array().square().rowwise().mean() + 1e-5).rsqrt();
    hat.array().colwise() *= scale.array();
    out = hat.array().rowwise() * gain.row(0).array();
  }
  [[nodiscard]] matrix backward(const matrix& grad, const matrix& gain) const {
    const matrix d = grad.array().rowwise() * gain.row(0).array();
    const vector mean = d.rowwise().mean(), along = d.cwiseProduct(hat).rowwise().mean();
    matrix x = d.colwise() - mean;
    x.array() -= hat.array().colwise() * along.array();
    x.array().colwise() *= scale.array();
    return x;
  }
};

struct block_weights {
  matrix gain1, qkv, project, gain2, up, down;
  template <class F>
  void each(F f) {
    f(gain1);
    f(qkv);
    f(project);
    f(gain2);
    f(up);
    f(down);
  }
};

// What one micro-batch leaves in a block for its backward pass.
struct block_state {
  norm n1, n2;
  matrix qkv, mixed, pre, act;                    // forward
  std::vector<matrix> attention;                  // per head
  matrix d_out, d_pre, d_n2, d_mid, d_qkv, d_n1;  // of the input gradient, for the weight gradient
};

double gelu(double a) { return 0.5 * a * (1 + std::tanh(0.7978845608028654 * (a + 0.044715 * a * a * a))); }
double gelu_slope(double a) {
  const double t = std::tanh(0.7978845608028654 * (a + 0.044715 * a * a * a));
  return 0.5 * (1 + t) + 0.5 * a * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * a * a);
}

matrix forward(const config& c, const block_weights& w, const matrix& x, block_state& s) {
  const int d = c.hidden / c.heads;
  s.n1.forward(x, w.gain1);
  s.qkv.noalias() = s.n1.out * w.qkv;
  s.mixed.resize(c.tokens, c.hidden);
  s.attention.resize(static_cast<std::size_t>(c.heads));
  for (int h = 0; h < c.heads; ++h) {
    const matrix q = s.qkv.middleCols(h * d, d), k = s.qkv.middleCols(c.hidden + h * d, d),
                 v = s.qkv.middleCols(2 * c.hidden + h * d, d);
    matrix& p = s.attention[static_cast<std::size_t>(h)];
    p.noalias() = q * k.transpose();
    p *= 1 / std::sqrt(double(d));
    for (int i = 0; i < c.tokens; ++i) {  // causal: token i looks at 0 … i
      const double most = p.row(i).head(i + 1).maxCoeff();
      double sum = 0;
      for (int j = 0; j < c.tokens; ++j) sum += p(i, j) = j <= i ? std::exp(p(i, j) - most) : 0;
      p.row(i) /= sum;
    }
    const matrix o = p * v;
    s.mixed.middleCols(h * d, d) = o;
  }
  matrix mid = x;
  mid.noalias() += s.mixed * w.project;
  s.n2.forward(mid, w.gain2);
  s.pre.noalias() = s.n2.out * w.up;
  s.act = s.pre.unaryExpr(&gelu);
  mid.noalias() += s.act * w.down;
  return mid;
}

matrix input_grad(const config& c, const block_weights& w, const matrix& d_out, block_state& s) {
  const int d = c.hidden / c.heads;
  s.d_out = d_out;
  s.d_pre.noalias() = d_out * w.down.transpose();
  s.d_pre.array() *= s.pre.unaryExpr(&gelu_slope).array();
  s.d_n2.noalias() = s.d_pre * w.up.transpose();
  s.d_mid = d_out + s.n2.backward(s.d_n2, w.gain2);
  const matrix d_mixed = s.d_mid * w.project.transpose();
  s.d_qkv.resize(c.tokens, 3 * c.hidden);
  for (int h = 0; h < c.heads; ++h) {
    const matrix q = s.qkv.middleCols(h * d, d), k = s.qkv.middleCols(c.hidden + h * d, d),
                 v = s.qkv.middleCols(2 * c.hidden + h * d, d), d_o = d_mixed.middleCols(h * d, d);
    const matrix& p = s.attention[static_cast<std::size_t>(h)];
    matrix d_p = d_o * v.transpose();
    const vector along = d_p.cwiseProduct(p).rowwise().sum();
    d_p.colwise() -= along;
    d_p.array() *= p.array() * (1 / std::sqrt(double(d)));
    const matrix d_q = d_p * k, d_k = d_p.transpose() * q, d_v = p.transpose() * d_o;
    s.d_qkv.middleCols(h * d, d) = d_q;
    s.d_qkv.middleCols(c.hidden + h * d, d) = d_k;
    s.d_qkv.middleCols(2 * c.hidden + h * d, d) = d_v;
  }
  s.d_n1.noalias() = s.d_qkv * w.qkv.transpose();
  return s.d_mid + s.n1.backward(s.d_n1, w.gain1);
}

// Each product first, then one addition per micro-batch: the order of summation is the order of calls and nothing else.
void weight_grad(const block_state& s, block_weights& g) {
  const matrix gain1 = s.d_n1.cwiseProduct(s.n1.hat).colwise().sum(),
               gain2 = s.d_n2.cwiseProduct(s.n2.hat).colwise().sum();
  const matrix qkv = s.n1.out.transpose() * s.d_qkv, project = s.mixed.transpose() * s.d_mid,
               up = s.n2.out.transpose() * s.d_pre, down = s.act.transpose() * s.d_out;
  g.gain1 += gain1;
  g.qkv += qkv;
  g.project += project;
  g.gain2 += gain2;
  g.up += up;
  g.down += down;
}

}  // namespace

struct stage::inside {
  struct batch {
    matrix in, out, d_in, d_out;
    std::vector<block_state> states;
    double loss = 0;
  };
  config c;
  int first = 0, count = 0, step = 0;
  std::vector<block_weights> weights, grads;
  std::map<int, batch> batches;

  [[nodiscard]] bool is_first() const { return first == 0; }
  [[nodiscard]] bool is_last() const { return first + count == c.blocks; }
  matrix& sized(matrix& m) const {
    if (m.size() == 0) m.setZero(c.tokens, c.hidden);
    return m;
  }
  [[nodiscard]] matrix drawn(int micro_batch, std::uint64_t what) const {
    random_numbers r(c.seed * 1000003 + static_cast<std::uint64_t>(step) * 8191 +
                     static_cast<std::uint64_t>(micro_batch) * 2 + what + 12345);
    return r.fill(c.tokens, c.hidden, 1.0);
  }
};

stage::stage(const config& c, int first, int count) : in_(std::make_unique<inside>()) {
  in_->c = c;
  in_->first = first;
  in_->count = count;
  for (int b = first; b < first + count; ++b) {
    random_numbers r(c.seed + static_cast<std::uint64_t>(b) * 7919);
    const double h = 1 / std::sqrt(double(c.hidden)), f = 1 / std::sqrt(double(c.ffn));
    block_weights w;
    w.gain1 = matrix::Ones(1, c.hidden) + r.fill(1, c.hidden, 0.1);
    w.qkv = r.fill(c.hidden, 3 * c.hidden, h);
    w.project = r.fill(c.hidden, c.hidden, h);
    w.gain2 = matrix::Ones(1, c.hidden) + r.fill(1, c.hidden, 0.1);
    w.up = r.fill(c.hidden, c.ffn, h);
    w.down = r.fill(c.ffn, c.hidden, f);
    in_->weights.push_back(std::move(w));
  }
  in_->grads = in_->weights;
  begin_step(0);
}
stage::~stage() = default;
stage::stage(stage&&) noexcept = default;

void stage::begin_step(int step) {
  in_->step = step;
  in_->batches.clear();
  for (int j = 0; j < in_->c.micro_batches; ++j) in_->batches[j];  // from here on only looked up
  for (auto& g : in_->grads) g.each([](matrix& m) { m.setZero(); });
}

void stage::forward(int micro_batch) {
  auto& b = in_->batches[micro_batch];
  if (in_->is_first()) b.in = in_->drawn(micro_batch, 0);
  b.states.assign(static_cast<std::size_t>(in_->count), {});
  matrix x = b.in;
  for (std::size_t k = 0; k < b.states.size(); ++k) x = training::forward(in_->c, in_->weights[k], x, b.states[k]);
  in_->sized(b.out) = x;
  if (!in_->is_last()) return;
  // Half the mean squared distance to the target, over the whole batch.
  const double scale = 1.0 / (in_->c.tokens * in_->c.hidden * in_->c.micro_batches);
  const matrix off = x - in_->drawn(micro_batch, 1);
  b.loss = 0.5 * scale * off.squaredNorm();
  b.d_out = scale * off;
}

void stage::input_grad(int micro_batch) {
  auto& b = in_->batches[micro_batch];
  matrix d = b.d_out;
  for (std::size_t k = b.states.size(); k-- > 0;) d = training::input_grad(in_->c, in_->weights[k], d, b.states[k]);
  in_->sized(b.d_in) = d;
}

void stage::weight_grad(int micro_batch) {
  auto& b = in_->batches[micro_batch];
  for (std::size_t k = 0; k < b.states.size(); ++k) training::weight_grad(b.states[k], in_->grads[k]);
  b.states.clear();
}

void stage::update() {
  for (std::size_t k = 0; k < in_->weights.size(); ++k) {
    std::vector<matrix*> to, by;
    in_->weights[k].each([&](matrix& m) { to.push_back(&m); });
    in_->grads[k].each([&](matrix& m) { by.push_back(&m); });
    for (std::size_t i = 0; i < to.size(); ++i) *to[i] -= in_->c.rate * *by[i];
  }
}

double* stage::input(int micro_batch) { return in_->sized(in_->batches[micro_batch].in).data(); }
double* stage::output(int micro_batch) { return in_->sized(in_->batches[micro_batch].out).data(); }
double* stage::grad_of_input(int micro_batch) { return in_->sized(in_->batches[micro_batch].d_in).data(); }
double* stage::grad_of_output(int micro_batch) { return in_->sized(in_->batches[micro_batch].d_out).data(); }
double stage::loss(int micro_batch) const { return in_->batches.at(micro_batch).loss; }

std::vector<double> stage::gradients() const {
  std::vector<double> all;
  for (auto& g : in_->grads) g.each([&](const matrix& m) { all.insert(all.end(), m.data(), m.data() + m.size()); });
  return all;
}
std::vector<double> stage::weights() const {
  std::vector<double> all;
  for (auto& w : in_->weights) w.each([&](const matrix& m) { all.insert(all.end(), m.data(), m.data() + m.size()); });
  return all;
}
void stage::set_weights(const std::vector<double>& w) {
  const double* from = w.data();
  for (auto& k : in_->weights)
    k.each([&](matrix& m) {
      std::copy(from, from + m.size(), m.data());
      from += m.size();
    });
}

}  // namespace training
